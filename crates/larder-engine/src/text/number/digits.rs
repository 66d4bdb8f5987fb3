//! The decimal digits of a double, as Valkey finds them.
//!
//! Valkey prints doubles by Grisu2 (Florian Loitsch, "Printing Floating-Point Numbers Quickly and Accurately with Integers",
//! PLDI 2010, section 5): digits that give the same number when they are read, nearly always the fewest and the nearest
//! (of one number in a thousand they are not). Libraries that always find the fewest print those numbers differently, and those
//! that lie in the middle between two texts too; clients, digests and scripts would see other texts than from Valkey. So the
//! method is followed with all its inaccuracies: which power of ten it takes, how products are rounded, and when it
//! stops moving the last digit towards the number.
//!
//! Constant time: three products of 64 bits, at most 10 divisions, and a multiplication for each digit after
//! those.

/// A number `fraction * 2^exponent`.
#[derive(Clone, Copy)]
struct Float {
    fraction: u64,
    exponent: i32,
}

const HIDDEN_BIT: u64 = 1 << 52;
/// What the exponent of a double is less than that of its fraction as an integer, and of numbers too small for the hidden bit.
const EXPONENT_BIAS: i32 = 1075;

/// Powers of ten of [`POWERS`]: from `10^FIRST_POWER` on, each `10^POWER_STEP` times the one before.
const FIRST_POWER: i32 = -348;
const POWER_STEP: i32 = 8;
/// The exponents that a number should have after the multiplication: its whole part then has 32 bits or fewer.
const EXPONENTS: std::ops::RangeInclusive<i32> = -60..=-32;

/// Digits of a double: at most 17 of the fraction, or 10 of the whole part and those that follow.
const DIGITS_MAX: usize = 18;

/// The digits of a number, first one not zero, and the power of ten that the last one stands for.
pub struct Digits {
    digits: [u8; DIGITS_MAX],
    len: usize,
    power: i32,
}

impl Digits {
    /// The digits of the absolute value. It must be finite and not zero.
    pub fn of(value: f64) -> Digits {
        debug_assert!(value.is_finite() && value != 0.0);
        let number = Float::of(value);
        let (lower, upper) = number.neighbours();
        let (power_of_ten, power) = power_for(upper.exponent);
        let [number, lower, upper] = [number.normal(), lower, upper].map(|n| n.times(power_of_ten));
        // The products may be wrong by one in their last place.
        let (lower, upper) = (lower.fraction + 1, Float { fraction: upper.fraction - 1, ..upper });
        let mut digits = Digits { digits: [0; DIGITS_MAX], len: 0, power: -power };
        digits.generate(upper, upper.fraction - number.fraction, upper.fraction - lower);
        digits
    }

    /// The digits as text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.digits[..self.len]
    }

    /// The power of ten that the first digit stands for.
    pub fn exponent(&self) -> i32 {
        self.power + self.len as i32 - 1
    }

    fn push(&mut self, digit: u64) {
        if digit != 0 || self.len > 0 {
            self.digits[self.len] = b'0' + digit as u8;
            self.len += 1;
        }
    }

    /// Digits of `upper` until what remains is less than `width`; then the last one goes down towards the number, which lies
    /// `distance` below `upper`.
    fn generate(&mut self, upper: Float, distance: u64, width: u64) {
        let shift = (-upper.exponent) as u32;
        let one = 1_u64 << shift;
        let (mut whole, mut part) = (upper.fraction >> shift, upper.fraction & (one - 1));
        for power in (0..10).rev() {
            let unit = 10_u64.pow(power);
            self.push(whole / unit);
            whole %= unit;
            let rest = (whole << shift) + part;
            if rest <= width {
                self.power += power as i32;
                return self.approach(distance, width, rest, unit << shift);
            }
        }
        let (mut width, mut scale) = (width, 1_u64);
        loop {
            part *= 10;
            width *= 10;
            scale *= 10;
            self.power -= 1;
            self.push(part >> shift);
            part &= one - 1;
            if part < width {
                return self.approach(distance * scale, width, part, one);
            }
        }
    }

    /// Lowers the last digit, by `unit` each time, while the text comes nearer to the number and stays within the width. `rest`
    /// is how far the text is below the upper end.
    fn approach(&mut self, distance: u64, width: u64, mut rest: u64, unit: u64) {
        while rest < distance
            && width - rest >= unit
            && (rest + unit < distance || distance - rest > rest + unit - distance)
        {
            self.digits[self.len - 1] -= 1;
            rest += unit;
        }
    }
}

impl Float {
    fn of(value: f64) -> Float {
        let bits = value.to_bits();
        let fraction = bits & (HIDDEN_BIT - 1);
        match (bits >> 52 & 0x7ff) as i32 {
            0 => Float { fraction, exponent: 1 - EXPONENT_BIAS },
            exponent => Float { fraction: fraction | HIDDEN_BIT, exponent: exponent - EXPONENT_BIAS },
        }
    }

    /// The same number with its highest bit set.
    fn normal(self) -> Float {
        let shift = self.fraction.leading_zeros();
        Float { fraction: self.fraction << shift, exponent: self.exponent - shift as i32 }
    }

    /// The middles between the number and the doubles next to it, with one exponent.
    fn neighbours(self) -> (Float, Float) {
        let upper = Float { fraction: (self.fraction << 1) + 1, exponent: self.exponent - 1 }.normal();
        // Below a power of two doubles are twice as close.
        let shift = if self.fraction == HIDDEN_BIT { 2 } else { 1 };
        let fraction = ((self.fraction << shift) - 1) << (self.exponent - shift - upper.exponent);
        (Float { fraction, exponent: upper.exponent }, upper)
    }

    /// The product, rounded to 64 bits.
    fn times(self, other: Float) -> Float {
        let product = u128::from(self.fraction) * u128::from(other.fraction) + (1 << 63);
        Float { fraction: (product >> 64) as u64, exponent: self.exponent + other.exponent + 64 }
    }
}

/// The power of ten, and which one it is, that brings a number with this exponent into [`EXPONENTS`]. Where several do, it is the
/// one that Valkey takes.
fn power_for(exponent: i32) -> (Float, i32) {
    let estimate = (f64::from(-(exponent + POWERS.len() as i32)) * std::f64::consts::LOG10_2) as i32;
    let mut at = (estimate - FIRST_POWER) / POWER_STEP;
    loop {
        let power = FIRST_POWER + at * POWER_STEP;
        let float = Float { fraction: POWERS[at as usize], exponent: exponent_of_ten(power) };
        let sum = exponent + float.exponent + 64;
        if sum < *EXPONENTS.start() {
            at += 1;
        } else if sum > *EXPONENTS.end() {
            at -= 1;
        } else {
            return (float, power);
        }
    }
}

/// The exponent of a power of ten whose fraction has 64 bits: floor(power * log2(10)) - 63.
fn exponent_of_ten(power: i32) -> i32 {
    ((power * 108_853) >> 15) - 63
}

/// The upper 64 bits, rounded to the nearest, of each eighth power of ten.
#[rustfmt::skip]
const POWERS: [u64; 87] = [
    0xfa8f_d5a0_081c_0288, 0xbaae_e17f_a23e_bf76, 0x8b16_fb20_3055_ac76, 0xcf42_894a_5dce_35ea,
    0x9a6b_b0aa_5565_3b2d, 0xe61a_cf03_3d1a_45df, 0xab70_fe17_c79a_c6ca, 0xff77_b1fc_bebc_dc4f,
    0xbe56_91ef_416b_d60c, 0x8dd0_1fad_907f_fc3c, 0xd351_5c28_3155_9a83, 0x9d71_ac8f_ada6_c9b5,
    0xea9c_2277_23ee_8bcb, 0xaecc_4991_4078_536d, 0x823c_1279_5db6_ce57, 0xc210_9436_4dfb_5637,
    0x9096_ea6f_3848_984f, 0xd774_85cb_2582_3ac7, 0xa086_cfcd_97bf_97f4, 0xef34_0a98_172a_ace5,
    0xb238_67fb_2a35_b28e, 0x84c8_d4df_d2c6_3f3b, 0xc5dd_4427_1ad3_cdba, 0x936b_9fce_bb25_c996,
    0xdbac_6c24_7d62_a584, 0xa3ab_6658_0d5f_daf6, 0xf3e2_f893_dec3_f126, 0xb5b5_ada8_aaff_80b8,
    0x8762_5f05_6c7c_4a8b, 0xc9bc_ff60_34c1_3053, 0x964e_858c_91ba_2655, 0xdff9_7724_7029_7ebd,
    0xa6df_bd9f_b8e5_b88f, 0xf8a9_5fcf_8874_7d94, 0xb944_7093_8fa8_9bcf, 0x8a08_f0f8_bf0f_156b,
    0xcdb0_2555_6531_31b6, 0x993f_e2c6_d07b_7fac, 0xe45c_10c4_2a2b_3b06, 0xaa24_2499_6973_92d3,
    0xfd87_b5f2_8300_ca0e, 0xbce5_0864_9211_1aeb, 0x8cbc_cc09_6f50_88cc, 0xd1b7_1758_e219_652c,
    0x9c40_0000_0000_0000, 0xe8d4_a510_0000_0000, 0xad78_ebc5_ac62_0000, 0x813f_3978_f894_0984,
    0xc097_ce7b_c907_15b3, 0x8f7e_32ce_7bea_5c70, 0xd5d2_38a4_abe9_8068, 0x9f4f_2726_179a_2245,
    0xed63_a231_d4c4_fb27, 0xb0de_6538_8cc8_ada8, 0x83c7_088e_1aab_65db, 0xc45d_1df9_4271_1d9a,
    0x924d_692c_a61b_e758, 0xda01_ee64_1a70_8dea, 0xa26d_a399_9aef_774a, 0xf209_787b_b47d_6b85,
    0xb454_e4a1_79dd_1877, 0x865b_8692_5b9b_c5c2, 0xc835_53c5_c896_5d3d, 0x952a_b45c_fa97_a0b3,
    0xde46_9fbd_99a0_5fe3, 0xa59b_c234_db39_8c25, 0xf6c6_9a72_a398_9f5c, 0xb7dc_bf53_54e9_bece,
    0x88fc_f317_f222_41e2, 0xcc20_ce9b_d35c_78a5, 0x9816_5af3_7b21_53df, 0xe2a0_b5dc_971f_303a,
    0xa8d9_d153_5ce3_b396, 0xfb9b_7cd9_a4a7_443c, 0xbb76_4c4c_a7a4_4410, 0x8bab_8eef_b640_9c1a,
    0xd01f_ef10_a657_842c, 0x9b10_a4e5_e991_3129, 0xe710_9bfb_a19c_0c9d, 0xac28_20d9_623b_f429,
    0x8044_4b5e_7aa7_cf85, 0xbf21_e440_03ac_dd2d, 0x8e67_9c2f_5e44_ff8f, 0xd433_179d_9c8c_b841,
    0x9e19_db92_b4e3_1ba9, 0xeb96_bf6e_badf_77d9, 0xaf87_023b_9bf0_ee6b,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: f64) -> String {
        let digits = Digits::of(value);
        format!("{} {}", String::from_utf8_lossy(digits.as_bytes()), digits.exponent())
    }

    #[test]
    fn digits_are_those_of_valkey() {
        for (value, expected) in [
            ("0.1", "1 -1"),
            ("1.5", "15 0"),
            ("5e-324", "5 -324"),
            ("1.7976931348623157e308", "17976931348623157 308"),
            ("2.2250738585072014e-308", "22250738585072014 -308"),
            // In the middle between two texts.
            ("2000000000000002.25", "20000000000000022 15"),
            // Not the fewest.
            ("0.36134018817632507", "36134018817632507 -1"),
            ("493955527641346930000", "49395552764134693 20"),
            ("8.399517536141479", "8399517536141479 0"),
        ] {
            assert_eq!(text(value.parse().unwrap()), expected, "{value}");
        }
    }

    #[test]
    fn digits_give_the_same_number() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..200_000 {
            let value = f64::from_bits(rng.u64(..));
            if !value.is_finite() || value == 0.0 {
                continue;
            }
            let digits = Digits::of(value);
            let text = format!("{}e{}", String::from_utf8_lossy(digits.as_bytes()), digits.power);
            assert_eq!(text.parse(), Ok(value.abs()), "{text}");
        }
    }
}
