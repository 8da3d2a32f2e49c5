//! Bytes → numbers of bits, forwards from the first byte or backwards from a mark in the last one (RFC 8878, 4.1 and 4.2).

/// Reads bits from the first byte on, the lowest of each byte first.
pub(super) struct Forward<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Forward<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next bits, 16 at most.
    pub(super) fn read(&mut self, count: u32) -> Result<u32, String> {
        let mut value = 0;
        for index in 0..count {
            let byte = self.bytes.get(self.at / 8).ok_or("a table ends too early")?;
            value |= u32::from(byte >> (self.at % 8) & 1) << index;
            self.at += 1;
        }
        Ok(value)
    }

    /// Go back by one bit.
    pub(super) fn back(&mut self) {
        self.at = self.at.saturating_sub(1);
    }

    /// The bits after the begun bytes.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at.div_ceil(8)..).unwrap_or_default()
    }
}

/// Reads bits from the last byte back: above the highest bit that is set there is nothing.
pub(super) struct Backward<'a> {
    bytes: &'a [u8],
    /// Bits that are left; fewer than none where more were read.
    left: i64,
}

impl<'a> Backward<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, String> {
        let (last, before) = bytes.split_last().ok_or("an empty stream of bits")?;
        let mark = last.checked_ilog2().ok_or("a stream of bits without its mark")?;
        let before = i64::try_from(before.len()).map_err(|error| error.to_string())?;
        Ok(Self { bytes, left: before * 8 + i64::from(mark) })
    }

    /// The next bits, 32 at most; behind the end they are zeros.
    pub(super) fn peek(&self, count: u32) -> u32 {
        let (mut value, count) = (0_u64, i64::from(count));
        // The bits in question, whole bytes first.
        let first = (self.left - count).max(0) / 8;
        for (index, place) in (first..first + 8).enumerate() {
            let byte = usize::try_from(place).ok().and_then(|place| self.bytes.get(place));
            value |= u64::from(byte.copied().unwrap_or_default()) << (index * 8);
        }
        let from = self.left - count;
        let value = match from < 0 {
            // Zeros come after what is left.
            true => (value & mask(self.left.max(0))) << (-from).min(63).min(count),
            false => value >> (from - first * 8),
        };
        u32::try_from(value & mask(count)).unwrap_or_default()
    }

    /// The same, and go on behind them.
    pub(super) fn read(&mut self, count: u32) -> u32 {
        let value = self.peek(count);
        self.skip(count);
        value
    }

    /// Go on behind so many bits.
    pub(super) fn skip(&mut self, count: u32) {
        self.left = self.left.saturating_sub(i64::from(count));
    }

    /// Was more read than there is?
    pub(super) fn is_overdrawn(&self) -> bool {
        self.left < 0
    }

    /// Was exactly everything read?
    pub(super) fn is_at_end(&self) -> bool {
        self.left == 0
    }
}

fn mask(count: i64) -> u64 {
    match u32::try_from(count) {
        Ok(count) if count < 64 => (1 << count) - 1,
        _ => u64::MAX,
    }
}
