//! Sign signatures: 256 bits whose differences say how far two vectors point apart (Charikar 2002).
//!
//! The projections are three rounds of fixed random signs and a Walsh–Hadamard transform (Andoni et al. 2015), so no
//! matrix is stored. Bits apart / 256 ≈ angle / π.

/// Bits of a signature, and numbers of a vector that are looked at.
pub const BITS: usize = 256;
const ROUNDS: usize = 3;

/// 256 bits.
pub type Signature = [u64; 4];

/// The signature of a vector; a shorter one is padded with zeros, a longer one folded.
pub fn signature(vector: impl IntoIterator<Item = f32>) -> Signature {
    let mut numbers = [0.0; BITS];
    for (i, number) in vector.into_iter().enumerate() {
        numbers[i % BITS] += number;
    }
    for round in 0..ROUNDS {
        flip_signs(&mut numbers, round as u64);
        transform(&mut numbers);
    }
    std::array::from_fn(|word| {
        let part = &numbers[word * 64..(word + 1) * 64];
        part.iter().enumerate().fold(0, |bits, (i, number)| bits | u64::from(*number >= 0.0) << i)
    })
}

/// Splitmix64 (Steele et al. 2014): the signs are part of the stored format and never change.
fn splitmix(state: u64) -> u64 {
    let mut z = state.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn flip_signs(numbers: &mut [f32; BITS], round: u64) {
    for (word, part) in numbers.chunks_exact_mut(64).enumerate() {
        let signs = splitmix(round * 4 + word as u64 + 1);
        for (i, number) in part.iter_mut().enumerate() {
            if signs >> i & 1 == 1 {
                *number = -*number;
            }
        }
    }
}

fn transform(numbers: &mut [f32; BITS]) {
    let mut half = 1;
    while half < BITS {
        for block in numbers.chunks_exact_mut(2 * half) {
            let (left, right) = block.split_at_mut(half);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::super::packed::bits_apart;
    use super::*;

    #[test]
    fn bits_apart_follow_the_angle() {
        let wave = |shift: f32| (0..256).map(move |i| (i as f32 * 0.37 + shift).sin());
        let first = signature(wave(0.0));
        for angle in [0.2f32, 0.8, 1.5] {
            let share = f32::from(bits_apart(&first, &signature(wave(angle)))) / 256.0;
            assert!((share - angle / std::f32::consts::PI).abs() < 0.1, "{angle}: {share}");
        }
        let opposite = signature(wave(0.0).map(|x| -x));
        assert_eq!(bits_apart(&first, &opposite), 256);
    }
}
