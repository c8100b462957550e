//! What a browser must know to be let in.

use sha2::{Digest, Sha256};
use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// A token that somebody chose has at least so many characters.
const SHORTEST: usize = 16;

/// What a browser must know to be let in. It is never shown by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

impl Token {
    /// A token that somebody chose.
    ///
    /// # Errors
    /// Where it is short, or cannot stand in an address.
    pub fn chosen(text: &str) -> Result<Token, String> {
        let text = text.trim();
        if text.len() < SHORTEST {
            return Err(format!(
                "it has {} characters, and at least {SHORTEST} are needed",
                text.len()
            ));
        }
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
        if !text.bytes().all(fits) {
            return Err("it may have letters, digits and `-_.~` alone".into());
        }
        Ok(Token(text.to_owned()))
    }

    /// The token of this file, which is made for this user alone where there is none. A server that starts again then
    /// knows the browsers that knew it before.
    ///
    /// # Errors
    /// Where the file cannot be read or made.
    pub fn kept_in(path: &Path) -> io::Result<Token> {
        if let Ok(text) = fs::read_to_string(path)
            && let Ok(token) = Token::chosen(&text)
        {
            return Ok(token);
        }
        let token = Token::drawn()?;
        if let Some(folder) = path.parent() {
            store::make_private_folder(folder)?;
        }
        // Not into a file that others may read already.
        let _ = fs::remove_file(path);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(token.0.as_bytes())?;
        Ok(token)
    }

    /// 128 bits that nobody can guess.
    fn drawn() -> io::Result<Token> {
        let mut bytes = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Token(hex(&bytes)))
    }

    /// The text, for the address that is shown to this user.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    pub(crate) fn is(&self, text: &str) -> bool {
        is_same(self.0.as_bytes(), text.as_bytes())
    }

    /// What a cookie holds: whoever reads it does not have the token.
    pub(crate) fn cookie(&self) -> String {
        let mut digest = Sha256::new();
        digest.update(b"modelmeter cookie ");
        digest.update(self.0.as_bytes());
        hex(&digest.finalize())
    }

    pub(crate) fn is_cookie(&self, text: &str) -> bool {
        is_same(self.cookie().as_bytes(), text.as_bytes())
    }
}

/// Takes as long whatever is wrong, so that a secret cannot be felt out letter by letter.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differs = one.iter().zip(other).fold(0, |found, (a, b)| found | (a ^ b));
    one.len() == other.len() && std::hint::black_box(differs) == 0
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_token_is_kept_for_this_user_alone_and_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in/serve.token");
        let token = Token::kept_in(&path).unwrap();
        assert_eq!(token.text().len(), 32);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(Token::kept_in(&path).unwrap(), token);
        fs::write(&path, "short").unwrap();
        assert_ne!(Token::kept_in(&path).unwrap(), token);
        assert_ne!(Token::drawn().unwrap(), Token::drawn().unwrap());
    }

    #[test]
    fn only_the_whole_token_is_the_token() {
        let token = Token::chosen("0123456789abcdef").unwrap();
        assert!(token.is("0123456789abcdef") && token.is_cookie(&token.cookie()));
        for wrong in ["", "0123456789abcde", "0123456789abcdeF", "0123456789abcdef0"] {
            assert!(!token.is(wrong) && !token.is_cookie(wrong), "{wrong}");
        }
        assert!(!token.is(&token.cookie()) && !token.cookie().contains(token.text()));
        assert!(Token::chosen("short").is_err() && Token::chosen("0123456789abcde&").is_err());
        assert!(!format!("{token:?}").contains("0123"));
    }
}
