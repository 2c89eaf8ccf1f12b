//! The safetensors file format: the length of a head, the head in JSON, and the numbers after it.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Maximum length of a valid head, in bytes.
const HEAD_MAX: usize = 16 * 1024 * 1024;

#[derive(Debug, Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

/// Tensors by name, borrowed from the bytes of a file.
#[derive(Debug)]
pub struct Tensors<'a> {
    tensors: BTreeMap<String, Tensor>,
    data: &'a [u8],
}

impl<'a> Tensors<'a> {
    /// None if the bytes are not of this format.
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok().filter(|length| *length <= HEAD_MAX)?;
        let (head, data) = rest.split_at_checked(length)?;
        let mut head: BTreeMap<String, serde_json::Value> = serde_json::from_slice(head).ok()?;
        head.remove("__metadata__");
        let read = head.into_iter().map(|(name, tensor)| Some((name, serde_json::from_value(tensor).ok()?)));
        Some(Self { tensors: read.collect::<Option<_>>()?, data })
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|tensor| tensor.shape.as_slice())
    }

    /// All numbers of a tensor; none if it doesn't exist, has an unsupported type, or doesn't match its shape.
    pub fn numbers(&self, name: &str) -> Option<Vec<f64>> {
        let tensor = self.tensors.get(name)?;
        let bytes = self.data.get(tensor.data_offsets[0]..tensor.data_offsets[1])?;
        let count: usize = tensor.shape.iter().product();
        let numbers: Vec<f64> = match tensor.dtype.as_str() {
            "F64" => each(bytes).map(f64::from_le_bytes).collect(),
            "F32" => each(bytes).map(|four| f64::from(f32::from_le_bytes(four))).collect(),
            "F16" => each(bytes).map(|two| half(u16::from_le_bytes(two))).collect(),
            "BF16" => {
                each(bytes).map(|two| f64::from(f32::from_bits(u32::from(u16::from_le_bytes(two)) << 16))).collect()
            }
            "I8" => bytes.iter().map(|byte| f64::from(byte.cast_signed())).collect(),
            "I32" => each(bytes).map(|four| f64::from(i32::from_le_bytes(four))).collect(),
            #[expect(clippy::cast_precision_loss, reason = "numbers of rows are far below 2^53")]
            "I64" => each(bytes).map(|eight| i64::from_le_bytes(eight) as f64).collect(),
            _ => return None,
        };
        (numbers.len() == count).then_some(numbers)
    }
}

fn each<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.chunks_exact(N).filter_map(|chunk| chunk.first_chunk::<N>().copied())
}

/// IEEE 754 binary16.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1F), f64::from(bits & 0x3FF) / 1024.0);
    sign * match exponent {
        0 => fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction) * 2f64.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_each_kind_are_read_and_cut_files_are_not() {
        let head = r#"{"__metadata__":{"format":"pt"},"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},
            "b":{"dtype":"F32","shape":[1,1],"data_offsets":[4,8]},"c":{"dtype":"I64","shape":[1],"data_offsets":[8,16]},
            "d":{"dtype":"F32","shape":[9],"data_offsets":[4,8]},"e":{"dtype":"F32","shape":[1],"data_offsets":[4,800]}}"#;
        let mut file = (head.len() as u64).to_le_bytes().to_vec();
        file.extend(head.as_bytes());
        file.extend([0x00, 0x3C, 0x00, 0xC1]);
        file.extend(0.25f32.to_le_bytes());
        file.extend(7i64.to_le_bytes());
        let tensors = Tensors::read(&file).expect("sound");
        assert_eq!(tensors.numbers("a"), Some(vec![1.0, -2.5]));
        assert_eq!((tensors.numbers("b"), tensors.shape("b")), (Some(vec![0.25]), Some(&[1, 1][..])));
        assert_eq!(tensors.numbers("c"), Some(vec![7.0]));
        assert_eq!([tensors.numbers("d"), tensors.numbers("e"), tensors.numbers("f")], [None, None, None]);
        assert!(Tensors::read(&file[..20]).is_none() && Tensors::read(b"PK").is_none());
        assert_eq!([half(0x0001), half(0x7BFF)], [2f64.powi(-24), 65_504.0]);
    }
}
