//! A headless Chromium, by its own protocol over two pipes: it opens a page, says what went wrong in it, and takes pictures.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The browser and the one page that it shows. It ends with this value.
pub(crate) struct Browser {
    child: Child,
    input: File,
    output: BufReader<File>,
    number: u64,
    session: String,
    /// What the console said, and what was refused or raised.
    said: Vec<String>,
    _folder: tempfile::TempDir,
}

/// Where pictures of pages are kept.
pub(crate) fn pictures() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/report");
    fs::create_dir_all(&folder).expect("a folder for the pictures");
    folder
}

fn program() -> String {
    let named = std::env::var("WINDROW_CHROMIUM").ok();
    let program = named
        .filter(|it| !it.is_empty())
        .unwrap_or_else(|| "chromium".to_owned());
    let found = Command::new(&program)
        .arg("--version")
        .stderr(Stdio::null())
        .output();
    assert!(
        found.is_ok_and(|output| output.status.success()),
        "`{program}` does not start: `.ci/setup` installs Chromium, or WINDROW_CHROMIUM names it"
    );
    program
}

impl Browser {
    pub(crate) fn open() -> Browser {
        let folder = tempfile::tempdir().expect("a folder");
        let (to, from) = (folder.path().join("in"), folder.path().join("out"));
        let made = Command::new("mkfifo").args([&to, &from]).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo");
        // The protocol is spoken on the third and the fourth file, which only a shell opens for a program.
        let child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<\"$IN\" 4>\"$OUT\"", "sh"])
            .arg(program())
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--no-first-run",
                "--no-default-browser-check",
                "--hide-scrollbars",
                "--remote-debugging-pipe",
            ])
            .arg(format!(
                "--user-data-dir={}",
                folder.path().join("profile").display()
            ))
            .env("IN", &to)
            .env("OUT", &from)
            .env("HOME", folder.path())
            // It leaves files there.
            .env("TMPDIR", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let input = OpenOptions::new().write(true).open(&to).expect("a pipe");
        let output = BufReader::new(File::open(&from).expect("a pipe"));
        let mut browser = Browser {
            child,
            input,
            output,
            number: 0,
            session: String::new(),
            said: Vec::new(),
            _folder: folder,
        };
        let target = browser.ask("Target.createTarget", &json!({"url": "about:blank"}));
        let target = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.ask("Target.attachToTarget", &target);
        browser.session = attached["sessionId"]
            .as_str()
            .expect("a session")
            .to_owned();
        for domain in ["Page", "Runtime", "Log"] {
            browser.ask(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Asks the browser something, and waits for its answer.
    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.number += 1;
        let mut message = json!({"id": self.number, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = self.session.clone().into();
        }
        let text = format!("{message}\0");
        self.input
            .write_all(text.as_bytes())
            .expect("the browser listens");
        loop {
            let answer = self.hear();
            if answer["id"] == self.number {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    /// The next message; what tells of trouble is noted.
    fn hear(&mut self) -> Value {
        let mut text = Vec::new();
        self.output
            .read_until(0, &mut text)
            .expect("the browser speaks");
        assert_eq!(text.pop(), Some(0), "the browser has ended");
        let message: Value = serde_json::from_slice(&text).expect("a message");
        let told = [
            "Runtime.consoleAPICalled",
            "Runtime.exceptionThrown",
            "Log.entryAdded",
        ];
        if told.iter().any(|name| message["method"] == *name) {
            self.said.push(message["params"].to_string());
        }
        message
    }

    /// Opens a file, in a window of this width.
    pub(crate) fn show(&mut self, page: &Path, width: u32, dark: bool) {
        self.visit(&format!("file://{}", page.display()), width, dark);
    }

    /// Opens an address, in a window of this width.
    pub(crate) fn visit(&mut self, url: &str, width: u32, dark: bool) {
        self.emulate("screen", dark);
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", &size);
        self.ask("Page.navigate", &json!({"url": url}));
        let until = Instant::now() + Duration::from_secs(60);
        while self.hear()["method"] != "Page.loadEventFired" {
            assert!(Instant::now() < until, "{url} is not loaded");
        }
    }

    /// Shows the page as on a screen, or as on paper (`print`).
    pub(crate) fn emulate(&mut self, medium: &str, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.ask(
            "Emulation.setEmulatedMedia",
            &json!({"media": medium, "features": features}),
        );
    }

    /// What an expression is worth in the page.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true});
        let answer = self.ask("Runtime.evaluate", &asked);
        assert!(answer["exceptionDetails"].is_null(), "{answer:#}");
        answer["result"]["value"].clone()
    }

    /// Takes a picture of the whole page.
    pub(crate) fn take(&mut self, name: &str) -> PathBuf {
        let taken = self.ask(
            "Page.captureScreenshot",
            &json!({"format": "png", "captureBeyondViewport": true}),
        );
        let path = pictures().join(name);
        let bytes = decoded(taken["data"].as_str().expect("a picture"));
        assert!(bytes.starts_with(b"\x89PNG"), "no picture");
        fs::write(&path, bytes).expect("the picture can be written");
        path
    }

    /// What the console said so far.
    pub(crate) fn said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let close = json!({"id": u64::MAX >> 12, "method": "Browser.close"});
        let _ = self.input.write_all(format!("{close}\0").as_bytes());
        for _ in 0..50 {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The bytes that a text in base 64 stands for.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut held) = (0_u32, 0);
    for sign in text.bytes() {
        let value = match sign {
            b'A'..=b'Z' => sign - b'A',
            b'a'..=b'z' => sign - b'a' + 26,
            b'0'..=b'9' => sign - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => continue,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    bytes
}
