//! The bounds of what tools do.

use std::path::PathBuf;

use super::{ByteCount, Shape, Span};
use maxim_config::{choice, section};

choice! {
    /// Whether child processes get namespaces of their own by bubblewrap.
    UseBubblewrap {
        /// Where it is installed and works.
        Auto = "auto",
        Off = "off",
        /// Nothing starts without.
        Require = "require",
    }
}

section! {
    /// The bounds of what tools do.
    Tools = "tools" {
        /// How long one call may take; then its processes are killed as a group.
        deadline: Span = "2min", "time", Shape::Span { low: "1s", high: "1day" };
        /// The longest output of one call; what is cut is said.
        output_max: ByteCount = "64 KiB", "bytes", Shape::Size { low: "1 KiB", high: "16 MiB" };
        /// What one call may write to disk in all, temporary files with it; a call that writes more is ended. Of a file that was
        /// there before, its growth counts. A server of tools may write so much within a minute.
        disk_max: ByteCount = "8 GiB", "bytes", Shape::Size { low: "1 MiB", high: "64 TiB" };
        /// Whether it may read public pages of the web. The agent can turn this off, and never on.
        web: bool = "true", "", Shape::Flag;
        /// A folder of manifests, by which programs of yours become tools. It must not lie in the working folder.
        folder: Option<PathBuf> = "", "", Shape::Path;
        /// Whether child processes get namespaces of their own by bubblewrap, beside the sandbox of the kernel: auto where it
        /// is installed and works, require refuses to start without, off never.
        bubblewrap: UseBubblewrap = "auto", "", Shape::Choice(UseBubblewrap::WORDS);
        /// Whether programs run where nothing keeps them from the agent's own data: its folder lies below one that they may
        /// use, and neither bubblewrap nor Landlock can leave it out. They could then read and change what the agent knows,
        /// its latch and its token.
        expose_own_data: bool = "false", "", Shape::Flag;
        /// Whether programs with network run where nothing keeps them from the daemon's own port: the kernel has neither
        /// seccomp's notifications nor Landlock's rules for TCP. With the token they could then do what a person can.
        expose_own_port: bool = "false", "", Shape::Flag;
        /// A voice of piper (its .onnx file, the .onnx.json beside it), with which it speaks where piper and aplay are
        /// installed; not set is espeak-ng.
        piper_voice: Option<PathBuf> = "", "", Shape::Path;
        /// Tools that come with things of the scene are on up to this many at once; beyond it the least recently used are off.
        scene_max: u32 = "20", "tools", Shape::Integer { low: 1, high: 1000 };
    }
}
