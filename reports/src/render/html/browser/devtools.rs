//! Just enough of the DevTools protocol to open a file, evaluate, type and point: JSON messages, each ended by a zero byte,
//! over the browser's debugging pipe.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// Names under which distributions install it.
pub const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A headless browser that shows one page; it ends with this value.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    next: u64,
    events: Vec<Value>,
}

/// The first browser on PATH.
pub fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .flat_map(|folder| NAMES.map(|name| folder.join(name)))
        .find(|program| program.is_file())
}

impl Browser {
    /// Starts `program` with an empty profile and waits until `file` is loaded.
    pub fn open(program: &Path, file: &Path, profile: &Path) -> Self {
        // The pipe's ends are descriptors 3 and 4; the shell makes them of its own input and output.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 >/dev/null 2>&1"])
            .arg(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"])
            .args(["--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe"])
            .args(["--window-size=1280,1000", &format!("--user-data-dir={}", profile.display()), "about:blank"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut browser = Self { child, to, from, session: None, next: 0, events: Vec::new() };
        let targets = browser.call("Target.getTargets", json!({}));
        let targets = targets["targetInfos"].as_array().unwrap();
        let page = targets.iter().find(|target| target["type"] == "page").unwrap()["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({"targetId": page, "flatten": true}));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            browser.call(domain, json!({}));
        }
        browser.load("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        browser
    }

    /// The value of an expression, as JSON.
    pub fn eval(&mut self, expression: &str) -> Value {
        let answer = self.call("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}));
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Presses a key that writes nothing.
    pub fn press(&mut self, key: &str) {
        for kind in ["rawKeyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({"type": kind, "key": key, "code": key}));
        }
    }

    /// Moves the pointer over an element, to `share` of its width.
    pub fn point_at(&mut self, selector: &str, share: f64) {
        let place = format!(
            "(() => {{ const e = document.querySelector('{selector}'); e.scrollIntoView({{block: 'center'}}); const b = \
             e.getBoundingClientRect(); return [b.x + b.width * {share}, b.y + b.height / 2]; }})()"
        );
        let place = self.eval(&place);
        self.call("Input.dispatchMouseEvent", json!({"type": "mouseMoved", "x": place[0], "y": place[1]}));
    }

    /// Gives the page another size.
    pub fn resize(&mut self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Lets the page believe in another medium (`print`, or empty for the screen) and colour scheme.
    pub fn media(&mut self, medium: &str, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"media": medium, "features": features}));
    }

    /// Loads the page again with scripts switched off.
    pub fn reload_without_scripts(&mut self) {
        self.call("Emulation.setScriptExecutionDisabled", json!({"value": true}));
        self.load("Page.reload", json!({}));
    }

    /// What the page made the browser complain about: exceptions, errors, violations of its policy.
    pub fn complaints(&self) -> Vec<String> {
        let complaint = |event: &Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => Some(event["params"].to_string()),
            Some("Log.entryAdded") if event["params"]["entry"]["level"] == "error" => Some(event["params"].to_string()),
            Some("Runtime.consoleAPICalled") => Some(event["params"]["args"].to_string()),
            _ => None,
        };
        self.events.iter().filter_map(complaint).collect()
    }

    fn load(&mut self, method: &str, params: Value) {
        self.events.retain(|event| event["method"] != "Page.loadEventFired");
        self.call(method, params);
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.read();
            self.events.push(event);
        }
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let answer = self.read();
            if answer["id"] == self.next {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn read(&mut self) -> Value {
        let mut message = Vec::new();
        self.from.read_until(0, &mut message).unwrap();
        assert_eq!(message.pop(), Some(0), "the browser ended");
        serde_json::from_slice(&message).unwrap()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The shell was replaced by the browser, so this ends the browser; its helpers end with it.
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
