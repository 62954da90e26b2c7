//! Where in what a program writes to its terminal something else may stand without tearing it: not within a command
//! to the terminal, nor within a character.

/// What was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// Nothing.
    #[default]
    Rest,
    /// An escape.
    Escape,
    /// A command with parameters (CSI).
    Command,
    /// A text for the terminal (OSC, DCS, APC, PM, SOS).
    Text,
    /// An escape in it, which may end it.
    TextEscape,
    /// A character of which so many bytes are to come.
    Character(u8),
}

/// What a terminal has been sent.
#[derive(Debug, Default)]
pub(crate) struct Screen(State);

impl Screen {
    /// More was sent.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |state, byte| after(state, *byte));
    }

    /// Whether nothing is begun.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.0 == State::Rest
    }
}

fn after(state: State, byte: u8) -> State {
    match (state, byte) {
        // Cancelled.
        (_, 0x18 | 0x1a) => State::Rest,
        (State::Text, 0x1b) => State::TextEscape,
        (State::Text, 0x07) | (State::TextEscape, b'\\') => State::Rest,
        (State::Text, _) => State::Text,
        // An escape begins anew, whatever it stands in.
        (_, 0x1b) => State::Escape,
        (State::Escape | State::TextEscape, b'[') => State::Command,
        (State::Escape | State::TextEscape, b']' | b'P' | b'X' | b'^' | b'_') => State::Text,
        // What stands between an escape and its last byte, and what a terminal obeys within a command.
        (State::Escape, 0x00..=0x2f) => State::Escape,
        (State::Command, 0x00..=0x3f) => State::Command,
        (State::Character(left), 0x80..=0xbf) if left > 1 => State::Character(left - 1),
        (State::Character(_), 0x80..=0xbf) => State::Rest,
        (_, 0xc2..=0xdf) => State::Character(1),
        (_, 0xe0..=0xef) => State::Character(2),
        (_, 0xf0..=0xf4) => State::Character(3),
        _ => State::Rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_torn_wherever_it_is_cut() {
        let whole: [&[u8]; 9] = [
            b"\x1b[1;31m",
            b"\x1b[?2026h",
            b"\x1b]0;a title\x07",
            b"\x1b]8;;http://x\x1b\\",
            b"\x1bP+q544e\x1b\\",
            b"\x1b(B",
            "\u{e9}".as_bytes(),
            "\u{20ac}".as_bytes(),
            "\u{1f600}".as_bytes(),
        ];
        for sequence in whole {
            let mut screen = Screen::default();
            screen.feed(b"text\r\n");
            assert!(screen.is_at_rest());
            for (at, byte) in sequence.iter().enumerate() {
                screen.feed(&[*byte]);
                assert_eq!(screen.is_at_rest(), at + 1 == sequence.len(), "{sequence:?} at {at}");
            }
        }
    }

    #[test]
    fn what_is_broken_off_or_no_text_comes_to_rest() {
        for bytes in
            [&b"\x1b[1\x1b[m"[..], b"\x1b]0;x\x18", b"\x1b]0;x\x1b[m", b"\xc3a", b"\xff", b"\x1b[1\x1b7"]
        {
            let mut screen = Screen::default();
            screen.feed(bytes);
            assert!(screen.is_at_rest(), "{bytes:?}");
        }
    }
}
