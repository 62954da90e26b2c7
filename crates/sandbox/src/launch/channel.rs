//! Messages between holder, gate and agent: one per packet of a socket pair, a letter and its values.

use super::spec::{Check, ChildExit, Measured, UserMap};
use crate::failure::Failure;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::{Errno, IoSliceMut, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use std::io::IoSlice;
use std::mem::MaybeUninit;

/// The longest message, in bytes.
pub(super) const LONGEST: usize = 128 * 1024;

/// One end of a channel.
pub(super) struct Channel(OwnedFd);

impl Channel {
    /// Two connected ends, closed at exec.
    pub(super) fn pair() -> Result<(Channel, Channel), Errno> {
        let (a, b) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Channel(a), Channel(b)))
    }

    pub(super) fn file(&self) -> &OwnedFd {
        &self.0
    }

    /// Sends one packet.
    pub(super) fn send(&self, bytes: &[u8]) -> Result<(), Errno> {
        retry_on_intr(|| rustix::net::send(&self.0, bytes, SendFlags::NOSIGNAL)).map(drop)
    }

    /// Sends one packet with a descriptor.
    pub(super) fn send_file(&self, bytes: &[u8], file: impl AsFd) -> Result<(), Errno> {
        let files = [file.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !ancillary.push(SendAncillaryMessage::ScmRights(&files)) {
            return Err(Errno::NOBUFS);
        }
        retry_on_intr(|| sendmsg(&self.0, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL))
            .map(drop)
    }

    /// Waits for one packet, and the descriptor that came with it. Empty: the other end is closed.
    pub(super) fn receive(&self) -> Result<(Vec<u8>, Option<OwnedFd>), Errno> {
        // Most packets are short, and memory for the longest would cost more than to ask. Nobody else receives here.
        let ask = || rustix::net::recv(&self.0, &mut [0u8; 0][..], RecvFlags::PEEK | RecvFlags::TRUNC);
        let length = match retry_on_intr(ask) {
            Err(Errno::CONNRESET) => return Ok((Vec::new(), None)),
            other => other?.1,
        };
        let mut bytes = vec![0; length.min(LONGEST)];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let got = loop {
            let mut slices = [IoSliceMut::new(&mut bytes)];
            match recvmsg(&self.0, &mut slices, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
                Err(Errno::INTR) => {}
                Err(Errno::CONNRESET) => return Ok((Vec::new(), None)),
                other => break other?,
            }
        };
        let file = ancillary.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut files) => files.next(),
            _ => None,
        });
        bytes.truncate(got.bytes);
        Ok((bytes, file))
    }
}

/// From the gate to the holder, and from the agent to the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Report {
    /// The agent's listener has this number in the agent.
    Listener(i32),
    /// What was measured; the user map is the holder's to know.
    Measured(Measured),
    /// The holder's end of the terminal comes with this packet.
    Terminal,
    /// A step failed.
    Failed(Failure),
    /// The program, by the step's words, could not be started.
    NoProgram(Failure),
    /// The program has begun.
    Started,
    /// The program was stopped by this signal.
    Stopped(i32),
    /// The program has ended.
    Ended(ChildExit),
    /// The other side is gone.
    Closed,
}

fn number(value: i32) -> [u8; 4] {
    value.to_ne_bytes()
}

fn read_number(bytes: &[u8]) -> Option<(i32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    Some((i32::from_ne_bytes(*number), rest))
}

impl Report {
    /// The packet.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let letter = |letter: u8, value: i32, text: &str| {
            let mut bytes = vec![letter];
            bytes.extend(number(value));
            bytes.extend_from_slice(text.as_bytes());
            bytes
        };
        match self {
            Report::Listener(file) => letter(b'L', *file, ""),
            Report::Measured(measured) => {
                let mut text = format!("{}\n", u8::from(measured.floor_complete));
                let line = |s: &str| s.replace(['\t', '\n'], " ");
                for (path, why) in &measured.unlayered {
                    text += &format!("-\t{}\t{}\n", line(path), line(why));
                }
                for check in &measured.checks {
                    text +=
                        &format!("{}\t{}\t{}\n", u8::from(check.held), line(&check.what), line(&check.seen));
                }
                letter(b'M', i32::try_from(measured.landlock_abi).unwrap_or(i32::MAX), &text)
            }
            Report::Terminal => letter(b'T', 0, ""),
            Report::Failed(failure) => letter(b'F', failure.error.raw_os_error(), &failure.step),
            Report::NoProgram(failure) => letter(b'N', failure.error.raw_os_error(), &failure.step),
            Report::Started => letter(b'S', 0, ""),
            Report::Stopped(signal) => letter(b'Z', *signal, ""),
            Report::Ended(ChildExit::Code(code)) => letter(b'X', i32::from(*code), ""),
            Report::Ended(ChildExit::Signal(signal)) => letter(b'K', *signal, ""),
            Report::Ended(ChildExit::Lost) | Report::Closed => Vec::new(),
        }
    }

    /// What a packet says; none if it is not one of these.
    pub(super) fn read(bytes: &[u8]) -> Option<Report> {
        let Some((letter, rest)) = bytes.split_first() else { return Some(Report::Closed) };
        let (value, rest) = read_number(rest)?;
        let text = || std::str::from_utf8(rest).ok();
        let failure = || Some(Failure { step: text()?.to_owned(), error: Errno::from_raw_os_error(value) });
        Some(match letter {
            b'L' => Report::Listener(value),
            b'M' => {
                let mut lines = text()?.lines();
                let floor_complete = lines.next()? == "1";
                let (mut checks, mut unlayered) = (Vec::new(), Vec::new());
                for line in lines {
                    let mut parts = line.splitn(3, '\t');
                    let mark = parts.next()?;
                    let (what, seen) = (parts.next()?.to_owned(), parts.next()?.to_owned());
                    match mark {
                        "-" => unlayered.push((what, seen)),
                        mark => checks.push(Check { held: mark == "1", what, seen }),
                    }
                }
                let landlock_abi = u32::try_from(value).ok()?;
                let user_map = UserMap::Own;
                Report::Measured(Measured { landlock_abi, floor_complete, user_map, checks, unlayered })
            }
            b'T' => Report::Terminal,
            b'F' => Report::Failed(failure()?),
            b'N' => Report::NoProgram(failure()?),
            b'S' => Report::Started,
            b'Z' => Report::Stopped(value),
            b'X' => Report::Ended(ChildExit::Code(u8::try_from(value).ok()?)),
            b'K' => Report::Ended(ChildExit::Signal(value)),
            _ => return None,
        })
    }
}

/// From the holder to the gate, and from the gate to the agent: go on.
pub(super) const GO: &[u8] = b"g";

/// From the holder to the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Send this signal to the program.
    Signal(i32),
    /// Put the program in the foreground of the session's terminal, or in the background.
    Front(bool),
}

impl Order {
    /// The packet.
    pub(super) fn bytes(self) -> Vec<u8> {
        let (letter, value) = match self {
            Order::Signal(signal) => (b's', signal),
            Order::Front(front) => (b'f', i32::from(front)),
        };
        [[letter].as_slice(), &number(value)].concat()
    }

    /// What a packet says; none if it is not one of these.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (letter, rest) = bytes.split_first()?;
        let (value, _) = read_number(rest)?;
        match letter {
            b's' => Some(Order::Signal(value)),
            b'f' => Some(Order::Front(value != 0)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_survive_the_channel() {
        let check = |held| Check { what: "list /w".to_owned(), held, seen: "EACCES".to_owned() };
        let measured = Measured {
            landlock_abi: 7,
            floor_complete: true,
            user_map: UserMap::Own,
            checks: vec![check(true), check(false)],
            unlayered: vec![("/home/agent/x".to_owned(), "EINVAL".to_owned())],
        };
        let failure = Failure { step: "mount /proc".to_owned(), error: Errno::PERM };
        let all = [
            Report::Listener(3),
            Report::Measured(measured),
            Report::Terminal,
            Report::Failed(failure.clone()),
            Report::NoProgram(failure),
            Report::Started,
            Report::Stopped(20),
            Report::Ended(ChildExit::Code(255)),
            Report::Ended(ChildExit::Signal(9)),
        ];
        let (a, b) = Channel::pair().unwrap();
        for report in all {
            a.send(&report.bytes()).unwrap();
            assert_eq!(Report::read(&b.receive().unwrap().0), Some(report));
        }
        drop(a);
        assert_eq!(Report::read(&b.receive().unwrap().0), Some(Report::Closed));
        assert_eq!(Report::read(b"?\0\0\0\0"), None);
        assert_eq!(Report::read(b"L\0"), None);
        for order in [Order::Signal(15), Order::Front(true), Order::Front(false)] {
            assert_eq!(Order::read(&order.bytes()), Some(order));
        }
        assert_eq!((Order::read(b""), Order::read(b"s\0"), Order::read(b"?\0\0\0\0")), (None, None, None));
    }
}
