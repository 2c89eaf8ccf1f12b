"use strict";
// Data from the daemon is shown as text only: it contains words of people, models and strangers.

const LOOK = 2000; // ms between two looks at the status
const PATIENCE = 5000; // ms that an answer may take
const STOP_TRIES = 15000; // ms for which a stop that doesn't arrive is tried again
const KEPT = 500; // entries of the conversation
const BASIS = 8; // lines shown of what a step rests on

const at = (id) => document.getElementById(id);
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

function make(tag, text, kind) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

/** Invisible characters, and those that turn the reading direction, are spelled out where a person decides by a text. */
const visible = (text) =>
  text.replace(/[\p{Cf}\p{Cc}\p{Zl}\p{Zp}]/gu, (sign) => (sign === "\n" ? sign : `\\u{${sign.codePointAt(0).toString(16)}}`));

// ---- asking the daemon

// The key of this tab's session. No cookie: a browser would send it to every port of this machine.
const session = () => sessionStorage.getItem("session");

/** The answer's document. Throws an Error with the daemon's own words, and `status` 0 if there was no answer. */
async function ask(path, body, shown = session()) {
  const headers = shown ? { Authorization: `Bearer ${shown}` } : {};
  const options = { headers, cache: "no-store", signal: AbortSignal.timeout(PATIENCE) };
  if (body) Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  let answer, told;
  try {
    answer = await fetch(path, options);
    told = await answer.json();
  } catch (error) {
    throw Object.assign(new Error(`the daemon did not answer (${error.message})`), { status: 0 });
  }
  if (answer.ok) return told;
  // 429 also means wrong keys: others on this machine showed some shortly before.
  if ((answer.status === 401 || answer.status === 429) && shown === session()) leave();
  throw Object.assign(new Error(`${told.detail}; ${told.fix}`), { status: answer.status });
}

// ---- access

const ENDED = "This tab's session is over: the daemon was restarted, or the tab was idle for too long. Run maxim open again.";

/** The key of this tab is no longer valid, so it isn't sent again. */
function leave() {
  if (session()) at("token-wrong").textContent = ENDED;
  sessionStorage.removeItem("session");
  if (at("token-form").hidden) {
    at("token-form").hidden = false;
    at("token").focus();
  }
}

async function exchange(key) {
  const told = await ask("/v1/session", { key }, null);
  sessionStorage.setItem("session", told.session);
  at("token-wrong").textContent = "";
  at("token-form").hidden = true;
  disconnect();
}

/** The key of `maxim open` comes in the fragment, which is removed at once: neither the address bar nor the history keeps it. */
async function enter() {
  const key = new URLSearchParams(location.hash.slice(1)).get("key");
  if (!key) return;
  history.replaceState(null, "", location.pathname);
  try {
    await exchange(key);
  } catch (error) {
    at("token-wrong").textContent = `This key or token wasn't accepted: ${error.message}.`;
    at("token-form").hidden = false;
  }
}

window.addEventListener("hashchange", () => enter().then(look));

at("token-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const given = at("token").value.trim();
  at("token").value = "";
  try {
    await exchange((await ask("/v1/session-keys", {}, given)).key);
  } catch (error) {
    const text = error.status === 401 ? "The daemon does not know this token." : `This key or token wasn't accepted: ${error.message}.`;
    at("token-wrong").textContent = text;
  }
  look();
});

// ---- stop, reset, resume

const LOST = "The connection to the daemon is lost. What you see here may be old. It is tried again.";
let [warning, isLost, stopping, stoppedHere] = ["", false, false, false];

// The result of a stop comes first; neither text hides the other.
function showAlarm() {
  const text = [warning, isLost ? LOST : ""].filter(Boolean).join(" ");
  // A screen reader would read the same words again.
  if (at("alarm").textContent !== text) at("alarm").textContent = text;
}

function alarm(text) {
  warning = text;
  showAlarm();
}

function lose(lost) {
  isLost = lost;
  showAlarm();
}

async function stop(how) {
  closeQuestion();
  if (stopping) return;
  stopping = true;
  alarm("Stopping …");
  const begun = Date.now();
  for (;;) {
    try {
      const told = await ask("/v1/stop", { reason: `${how} on the web page` });
      alarm(told.durable ? "" : "The stop was not on the disk in time: after a restart it may be forgotten.");
      stoppedHere = true;
      showState("Stopped. Nothing is done until it is reset.", "stopped");
      break;
    } catch (error) {
      if (error.status !== 0 || Date.now() - begun > STOP_TRIES) {
        alarm(`THE STOP DID NOT ARRIVE: ${error.message}. Stop it by other means: maxim stop, or the robot's own switch.`);
        break;
      }
      alarm(`THE STOP HAS NOT ARRIVED YET: ${error.message}. It is tried again.`);
      await wait(500);
    }
  }
  stopping = false;
  look();
}

at("stop").addEventListener("click", () => stop("STOP"));
// Captured at the window, so that no field can keep the key.
window.addEventListener("keydown", (event) => event.key === "Escape" && !event.repeat && stop("Escape"), true);

const QUESTIONS = {
  reset: ["Clear the stop? Motion stays held until you resume.", "Yes, clear the stop"],
  resume: ["Let motion and held parts go on?", "Yes, go on"],
};
let question = null;

function closeQuestion() {
  if (!question) return;
  const opener = at(question);
  question = null;
  at("sure").hidden = true;
  opener.focus();
}

for (const name of Object.keys(QUESTIONS)) {
  at(name).addEventListener("click", () => {
    question = name;
    [at("sure-what").textContent, at("sure-yes").textContent] = QUESTIONS[name];
    at("sure").hidden = false;
    at("sure-no").focus();
  });
}

at("sure-no").addEventListener("click", closeQuestion);
at("sure-yes").addEventListener("click", async () => {
  const name = question;
  closeQuestion();
  try {
    await ask(`/v1/${name}`, {});
    alarm("");
  } catch (error) {
    alarm(`That was not done: ${error.message}.`);
  }
  look();
});

// ---- status

let looking = null;

/** Reads the status now, and then repeatedly; a running request is awaited. */
async function look() {
  clearTimeout(looking);
  looking = null;
  const turn = (look.turn = (look.turn ?? 0) + 1);
  try {
    const status = await ask("/v1/status");
    // The store may hang while the rest works.
    const asked = await ask("/v1/approvals").catch(() => null);
    if (turn !== look.turn) return; // a later look has newer news
    lose(false);
    stoppedHere = false;
    at("open").hidden = status.asks_for !== "nothing";
    showStatus(status);
    showApprovals(asked);
    if (!socket) connect();
  } catch (error) {
    if (turn !== look.turn) return;
    // A socket may not notice for minutes that the daemon is gone.
    if (error.status === 0) disconnect();
    lose(error.status === 0);
    // A person who stopped it without access is told no more than that.
    if (error.status === 401 && stoppedHere) showState("Stopped from this page. To see the present state, come in below.", "stopped");
    else showState(error.status === 401 ? "The agent's state is shown after you come in (below)." : "The agent's state can't be seen.", "");
    at("reset").disabled = at("resume").disabled = true;
    // Without access, everything shown would be out of date.
    if (error.status === 401) at("how").hidden = true;
  }
  looking = setTimeout(look, LOOK);
}

// A browser seldom runs the timers of a hidden page.
document.addEventListener("visibilitychange", () => document.hidden || look());

function showState(text, kind) {
  // A screen reader is only told again when it has changed.
  if (at("state").textContent !== text) at("state").textContent = text;
  at("state").className = kind;
  document.title = kind ? "STOPPED – Maxim" : "Maxim";
}

function showStatus(status) {
  const { latched, motion, reason, who, at: since } = status.stop;
  if (latched) {
    const when = since ? ` since ${new Date(since).toLocaleTimeString()}` : "";
    showState(`Stopped by ${visible(who ?? "somebody unknown")}${when}: ${visible(reason ?? "no reason given")}. Nothing is done until it is reset.`, "stopped");
  } else if (motion === "motion_held") {
    showState(`Reset, and ${status.state}. Motion is held until somebody resumes.`, "");
  } else {
    showState(`Running: ${status.state}.`, "");
  }
  at("reset").disabled = !latched;
  const { regions, disk, body, llm, version } = status;
  const named = (holds) => regions.filter(holds).map((region) => region.name);
  // There is something to resume.
  const isHeld = motion === "motion_held" || status.hold || named((region) => region.state === "held").length > 0;
  at("resume").disabled = latched || !isHeld;
  at("how").hidden = false;

  const restarts = regions.filter((region) => region.restarts > 0).map((region) => `${region.name} ${region.restarts}`);
  const lines = [["Rooms up", `${named((region) => region.state === "running").length} of ${regions.length}`]];
  for (const state of ["restarting", "held", "off"]) {
    const those = named((region) => region.state === state);
    if (those.length) lines.push([`Rooms ${state}`, those.join(", ")]);
  }
  const thin = named((region) => region.thin);
  if (thin.length) lines.push(["Rooms that only do the minimum", thin.join(", ")]);
  lines.push(["Restarts", restarts.join(", ") || "none"]);
  lines.push(["Disk", disk.reason ? `${disk.status}: ${disk.reason}` : disk.status]);
  lines.push(["Body", body?.fault ? `${body.driver}: ${body.fault}` : (body?.driver ?? "none")]);
  lines.push(["Language model", llm], ["Version", version]);
  at("status").replaceChildren(...lines.flatMap(([name, value]) => [make("dt", name), make("dd", visible(String(value)))]));
}

// ---- questions

const shown = new Map();

function showApprovals(asked) {
  at("asked-title").textContent = asked ? "It asks for permission" : "Its questions can't be shown at present";
  at("asked").hidden = asked && shown.size === 0 && asked.approvals.length === 0;
  if (!asked) return;
  const { approvals } = asked;
  const open = new Set(approvals.map((approval) => approval.id));
  for (const approval of approvals) {
    if (!shown.has(approval.id)) {
      shown.set(approval.id, approvalBox(approval));
      at("approvals").append(shown.get(approval.id));
    }
  }
  // Nothing moves under a finger that is about to press a button.
  const isInUse = at("asked").matches(":hover, :focus-within");
  for (const [id, box] of shown) {
    if (open.has(id)) continue;
    box.querySelectorAll("button").forEach((button) => (button.disabled = true));
    const note = box.querySelector(".note");
    note.textContent ||= "It was answered, or it has expired.";
    if (!isInUse) {
      box.remove();
      shown.delete(id);
    }
  }
  at("asked").hidden = shown.size === 0;
}

function approvalBox(approval) {
  const box = make("div", undefined, "box");
  const name = `to use ${approval.tool}`;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", `It asks ${name}`);
  const until = new Date(approval.expires).toLocaleTimeString([], { timeZoneName: "short" });
  box.append(make("p", `${approval.tool} — ${visible(approval.reason)} (${approval.rule}); until ${until}`));
  box.append(make("pre", visible(JSON.stringify(approval.params, null, 2))));
  const channel = approval.channel === "websocket" ? "the page" : approval.channel === "http" ? "HTTP" : (approval.channel ?? "an unknown channel");
  const from = `${approval.sender === "owner" ? "the owner" : (approval.sender ?? "somebody")}, on ${channel}`;
  box.append(make("p", `Wanted by ${visible(from)}.`));
  const covers = approval.always?.covers;
  box.append(make("p", covers ? `“Always” would cover ${visible(covers)}.` : "There is no “always” for it."));
  const [row, note] = [make("div", undefined, "row"), make("p", undefined, "note")];
  const answer = async (allow, always = false) => {
    row.querySelectorAll("button").forEach((button) => (button.disabled = true));
    try {
      await ask(`/v1/approvals/${encodeURIComponent(approval.id)}`, { allow, always });
      note.textContent = always ? "You allowed it, also from now on. To revoke it: maxim approvals revoke." : allow ? "You allowed it." : "You denied it.";
    } catch (error) {
      note.textContent = `Your answer was not accepted: ${error.message}.`;
      row.querySelectorAll("button").forEach((button) => (button.disabled = error.status === 404));
    }
    look();
  };
  const answers = [["Deny", false], ["Allow this once", true]];
  if (covers) answers.push(["Always allow exactly this", true, true]);
  for (const [label, allow, always] of answers) {
    const button = make("button", label);
    button.type = "button";
    button.setAttribute("aria-label", `${label}: ${name}`);
    button.addEventListener("click", () => answer(allow, always));
    row.append(button);
  }
  box.append(row, note);
  return box;
}

// ---- conversation

let socket = null;
/** Sent on this connection and not yet accepted by the daemon, which answers in order. */
let unanswered = [];
/** Accepted, with a running turn: if they are sent again under their id, the daemon reports them again. */
const turns = new Map();
/** Already shown, so that a reply that comes both by itself and with the end of its turn is shown once. */
const heard = new Set();

function connect() {
  const shown = session() ?? "";
  const proof = [...new TextEncoder().encode(shown)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`;
  const mine = (socket = new WebSocket(address, proof ? ["maxim", `maxim.bearer.${proof}`] : ["maxim"]));
  mine.addEventListener("open", () => {
    at("line").textContent = "Connected.";
    const underWay = [...turns.values()];
    turns.clear();
    underWay.forEach(send);
  });
  mine.addEventListener("message", (event) => mine === socket && hear(JSON.parse(event.data)));
  // The next status request connects again.
  mine.addEventListener("close", () => mine === socket && disconnect());
}

function disconnect() {
  const left = socket;
  socket = null;
  left?.close();
  at("line").textContent = "Not connected; it is tried again.";
  unanswered.forEach(offerAgain);
  unanswered = [];
}

function send(message) {
  if (socket?.readyState !== WebSocket.OPEN) return offerAgain(message);
  unanswered.push(message);
  socket.send(JSON.stringify({ text: message.text, provider_id: message.id }));
}

/** A message that may have arrived. The daemon accepts each id once. It isn't sent automatically, as it may be outdated. */
function offerAgain(message) {
  const button = make("button", "Send it again");
  button.type = "button";
  button.addEventListener("click", () => {
    message.note.replaceChildren();
    send(message);
  });
  message.note.replaceChildren("The connection was lost before the daemon confirmed this. ", button);
}

function hear(said) {
  if (said.type === "accepted") {
    const message = unanswered.shift();
    if (message) turns.set(said.id, message);
  } else if (said.type === "error") {
    unanswered.shift()?.note.replaceChildren(`This was not taken: ${said.detail}; ${said.fix}.`);
  } else if (said.type === "reply") {
    reply(said.turn, said.text);
  } else if (said.type === "ended") {
    if (said.reply) reply(said.turn, said.reply);
    const actions = turns.has(said.turn) ? said.actions.filter((action) => action.tool !== "respond") : [];
    for (const { tool, status, reason } of actions) entry("", `${tool}: ${status}${reason ? `, ${reason}` : ""}`, "note");
    turns.delete(said.turn);
    look(); // it may have asked for something
  }
}

function reply(turn, text) {
  const key = `${turn} ${text}`;
  if (heard.has(key)) return;
  heard.add(key);
  if (heard.size > KEPT) heard.delete(heard.values().next().value);
  const line = entry("Maxim", text, "");
  if (turn) line.append(whyButton(turn, text));
}

/** Shows, and hides again, each step that led to an answer. */
function whyButton(turn, text) {
  const [box, button] = [make("div"), make("button", "Why?", "why")];
  button.type = "button";
  button.setAttribute("aria-label", `Why ${visible(text).slice(0, 60)}`);
  button.setAttribute("aria-expanded", "false");
  button.addEventListener("click", async () => {
    const isOpen = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!isOpen));
    box.querySelector("ol, p")?.remove();
    if (isOpen) return;
    try {
      box.append(steps(await ask(`/v1/why/${encodeURIComponent(turn)}`)));
    } catch (error) {
      box.append(make("p", `It can't be told: ${error.message}.`));
    }
  });
  box.append(button);
  return box;
}

/** The steps of a turn in order, each with its evidence below. */
function steps(record) {
  const list = make("ol", undefined, "steps");
  list.setAttribute("aria-label", "What led to it");
  const began = new Date(record.steps[0]?.at);
  for (const step of record.steps) {
    const line = make("li", visible(`+${new Date(step.at) - began} ms ${step.what}`));
    for (const basis of (step.rests_on ?? []).slice(0, BASIS)) line.append(make("div", visible(basis), "small"));
    list.append(line);
  }
  return list;
}

/** Adds a line to the conversation; returns what later notes need. */
function entry(who, text, kind) {
  const talk = at("talk");
  const isAtEnd = talk.scrollHeight - talk.scrollTop - talk.clientHeight < 40;
  const line = make("div", undefined, `said ${kind}`);
  const [words, note] = [make("span", text, "words"), make("div", undefined, "note")];
  words.dir = "auto";
  if (who) line.append(make("b", who));
  line.append(words, note);
  talk.append(line);
  if (talk.childElementCount > KEPT) talk.firstElementChild.remove();
  if (isAtEnd) talk.scrollTop = talk.scrollHeight;
  return note;
}

at("say").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = at("text").value;
  if (!text.trim()) return;
  if (socket?.readyState !== WebSocket.OPEN) {
    return alarm("That was not sent: there is no connection to the daemon. Your words are kept.");
  }
  at("text").value = "";
  const id = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  send({ id, text, note: entry("You", text, "own") });
});

at("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    at("say").requestSubmit();
  }
});

enter().then(look);
