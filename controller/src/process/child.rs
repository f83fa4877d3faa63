//! A running child: started, watched by its threads, and never left behind.

use std::io::{self, PipeWriter, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::command::Command;
use super::error::{Details, Error, Reason};
use super::group;
use super::journal::JournalEntry;
use super::log::Log;
use super::orphans::Running;
use super::output::{Delivery, Pump, Shared, Stream};
use super::session::Session;
use super::supervise::{Event, KILLED};

/// A program in the background, ended with its whole group when this guard is dropped.
#[derive(Debug)]
pub struct Child {
    pub(super) session: Session,
    pub(super) pid: u32,
    pub(super) shared: Arc<Shared>,
    pub(super) events: Receiver<Event>,
    pub(super) started: Instant,
    pub(super) limits: Limits,
    pub(super) exit: Option<io::Result<ExitStatus>>,
    pub(super) open_streams: usize,
    what: What,
    log: Option<Arc<Log>>,
    handle: Arc<duct::Handle>,
    stdin: Option<PipeWriter>,
    running: Option<Running>,
    recorded: bool,
}

/// What bounds a run.
#[derive(Debug)]
pub(super) struct Limits {
    pub(super) timeout: Option<Duration>,
    pub(super) no_progress: Option<Duration>,
    pub(super) grace: Duration,
    pub(super) capture: Option<usize>,
    pub(super) accepted: Vec<i32>,
    pub(super) makes: Option<PathBuf>,
}

/// What is said about it, redacted.
#[derive(Clone, Debug)]
struct What {
    step: String,
    argv: Vec<String>,
    command: String,
    start: jiff::Timestamp,
}

/// Lines waiting for a slow listener; the child waits when there are more.
const QUEUE: usize = 256;

impl Child {
    pub(super) fn start(command: &Command, session: &Session, delivery: Delivery) -> Result<Self, Error> {
        for secret in command.secrets() {
            session.redactor().add(secret);
        }
        let what = What {
            step: command.step.clone(),
            argv: command.redacted_words(session),
            command: command.display(session),
            start: jiff::Timestamp::now(),
        };
        let fail = |reason: Reason, log: Option<&Log>| {
            let log = log.map(|log| log.path().to_owned());
            Error::new(what.details(reason, Duration::ZERO, log, [String::new(), String::new()]))
        };
        session.check().map_err(|interrupted| fail(Reason::Interrupted(interrupted.0), None))?;
        let program = command.resolve().ok_or_else(|| fail(Reason::Missing(what.argv[0].clone()), None))?;
        let log = open_log(session, &what).map_err(|error| fail(Reason::Record(error), None))?;
        let running = Running::note(session, &what.step, &what.command);
        let running =
            tolerate(session, running).map_err(|error| fail(Reason::Record(error), log.as_deref()))?.flatten();
        let launched = launch(command, program, running.as_ref()).map_err(|error| {
            if let Some(running) = &running {
                running.forget();
            }
            fail(Reason::NotStarted(error), log.as_deref())
        })?;
        if let Some(running) = &running {
            running.started(launched.pid);
        }
        let shared = Arc::new(Shared::new(delivery != Delivery::Nothing));
        let (sender, events) = sync_channel(QUEUE);
        for (stream, source) in [(Stream::Stdout, launched.stdout), (Stream::Stderr, launched.stderr)] {
            let pump = Pump {
                stream,
                shared: Arc::clone(&shared),
                log: log.clone(),
                redactor: session.redactor().clone(),
                capture: command.capture.filter(|_| stream == Stream::Stdout),
                delivery,
                transient: command.transient,
                counts: command.output_counts,
                events: sender.clone(),
            };
            std::thread::spawn(move || pump.run(source));
        }
        await_exit(Arc::clone(&launched.handle), sender);
        let limits = Limits {
            timeout: command.timeout,
            no_progress: command.no_progress,
            grace: command.grace,
            capture: command.capture,
            accepted: command.accepted.clone(),
            makes: command.makes.clone(),
        };
        Ok(Self {
            session: session.clone(),
            pid: launched.pid,
            shared,
            events,
            started: Instant::now(),
            limits,
            exit: None,
            open_streams: 2,
            what,
            log,
            handle: launched.handle,
            stdin: launched.stdin,
            running,
            recorded: false,
        })
    }

    /// Its process id, which is its group's too.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Its log file.
    pub fn log_path(&self) -> Option<PathBuf> {
        self.log.as_ref().map(|log| log.path().to_owned())
    }

    /// Whether it has not ended yet.
    pub fn is_running(&self) -> bool {
        matches!(self.handle.try_wait(), Ok(None))
    }

    /// Waits for the line of standard output that `find` recognises.
    ///
    /// # Errors
    /// When it ends first ([`Reason::EndedEarly`]), takes longer than `limit`, or the user asks to stop. It runs on unless
    /// it has ended: drop it.
    pub fn wait_for<T>(&mut self, limit: Duration, mut find: impl FnMut(&str) -> Option<T>) -> Result<T, Error> {
        let deadline = Instant::now() + limit;
        loop {
            let event = self.events.recv_timeout(Duration::from_millis(50));
            match event {
                Ok(Event::Line(Stream::Stdout, text)) => {
                    if let Some(found) = find(&text) {
                        self.shared.listening.store(false, Ordering::Relaxed);
                        return Ok(found);
                    }
                }
                Ok(Event::Line(Stream::Stderr, _)) => {}
                Ok(Event::Closed) => self.open_streams = self.open_streams.saturating_sub(1),
                Ok(Event::Exited(status)) => self.exit = Some(status),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => self.open_streams = 0,
            }
            if self.open_streams == 0 && (self.exit.is_some() || !self.is_running()) {
                return Err(self.error(Reason::EndedEarly(self.how_it_ended())));
            }
            self.session.check().map_err(|interrupted| self.error(Reason::Interrupted(interrupted.0)))?;
            if Instant::now() > deadline {
                return Err(self.error(Reason::Timeout(limit)));
            }
        }
    }

    /// # Errors
    /// [`Reason::EndedEarly`] when it has ended although it should be running.
    pub fn check(&self) -> Result<(), Error> {
        if self.is_running() { Ok(()) } else { Err(self.error(Reason::EndedEarly(self.how_it_ended()))) }
    }

    /// Ends it: closes its input, asks its group, waits, kills.
    pub fn stop(mut self) {
        self.shut_down();
    }

    fn shut_down(&mut self) {
        self.stdin = None;
        let early = !self.is_running();
        if !early {
            group::signal(self.pid, Signal::SIGTERM);
            let deadline = Instant::now() + self.limits.grace;
            while Instant::now() < deadline && self.is_running() && !self.session.interruption().urgent() {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        // Also for what it started itself and left running.
        group::signal(self.pid, Signal::SIGKILL);
        // Whoever looks afterwards must not find it because it has not been collected yet.
        let deadline = Instant::now() + KILLED;
        while self.is_running() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        let ended = self.how_it_ended();
        let said = if early { format!("ended by itself: {ended}") } else { "stopped".to_owned() };
        // A record that could not be written must not turn an orderly end into a failure.
        self.record(&said).unwrap_or_default();
    }

    fn how_it_ended(&self) -> String {
        match self.handle.try_wait() {
            Ok(Some(output)) => output.status.to_string(),
            Ok(None) => "still running".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    /// Writes the end into log and journal, once, and forgets that it was running.
    pub(super) fn record(&mut self, said: &str) -> io::Result<()> {
        if std::mem::replace(&mut self.recorded, true) {
            return Ok(());
        }
        if let Some(running) = self.running.take() {
            running.forget();
        }
        let seconds = self.started.elapsed().as_secs_f64();
        let logged = self.log.as_ref().map_or(Ok(()), |log| log.finish(&format!("{said} after {seconds:.3} s")));
        let entry = JournalEntry {
            step: self.what.step.clone(),
            argv: self.what.argv.clone(),
            command: self.what.command.clone(),
            start: self.what.start,
            seconds,
            exit: said.to_owned(),
            log: self.log_path().map(|path| path.display().to_string()),
        };
        let journalled = self.session.journal().map_or(Ok(()), |journal| entry.append(journal));
        tolerate(&self.session, logged.and(journalled)).map(Option::unwrap_or_default)
    }

    pub(super) fn error(&self, reason: Reason) -> Error {
        let tails = [
            self.shared.tail(Stream::Stdout, self.session.redactor()),
            self.shared.tail(Stream::Stderr, self.session.redactor()),
        ];
        Error::new(self.what.details(reason, self.started.elapsed(), self.log_path(), tails))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.recorded {
            self.shut_down();
        }
    }
}

impl What {
    fn details(&self, reason: Reason, elapsed: Duration, log: Option<PathBuf>, tails: [String; 2]) -> Details {
        let [stdout_tail, stderr_tail] = tails;
        let (step, command) = (self.step.clone(), self.command.clone());
        Details { step, command, reason, elapsed, log, stdout_tail, stderr_tail }
    }
}

impl Command {
    /// The program's path, searched on the PATH that the child will have.
    fn resolve(&self) -> Option<PathBuf> {
        let environment = self.full_environment();
        let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
        let folder = self.folder.clone().or_else(|| std::env::current_dir().ok()).unwrap_or_default();
        which::which_in(&self.program, path, folder).ok()
    }
}

/// A program that was just started, with our ends of its pipes.
struct Launched {
    handle: Arc<duct::Handle>,
    pid: u32,
    stdout: io::PipeReader,
    stderr: io::PipeReader,
    stdin: Option<PipeWriter>,
}

fn launch(command: &Command, program: PathBuf, running: Option<&Running>) -> io::Result<Launched> {
    let (stdout, stdout_writer) = io::pipe()?;
    let (stderr, stderr_writer) = io::pipe()?;
    let mut environment = command.full_environment();
    environment.extend(running.map(Running::variable));
    let mut expression = duct::cmd(program, &command.arguments)
        .full_env(environment)
        .stdout_file(stdout_writer)
        .stderr_file(stderr_writer)
        .unchecked()
        .before_spawn(|command| {
            command.process_group(0);
            Ok(())
        });
    if let Some(folder) = &command.folder {
        expression = expression.dir(folder);
    }
    let mut stdin = None;
    if command.stdin.is_some() || command.stdin_open {
        let (reader, writer) = io::pipe()?;
        expression = expression.stdin_file(reader);
        stdin = Some(writer);
    } else {
        expression = expression.stdin_null();
    }
    let handle = Arc::new(start(&expression)?);
    // The expression holds the write ends; while it lives, the streams never end.
    drop(expression);
    let pid = handle.pids().first().copied().unwrap_or_default();
    if let (Some(bytes), Some(mut writer)) = (command.stdin.clone(), stdin.take_if(|_| !command.stdin_open)) {
        // A program may end without reading all of it; that is for its exit code to tell.
        std::thread::spawn(move || writer.write_all(&bytes).unwrap_or_default());
    }
    Ok(Launched { handle, pid, stdout, stderr, stdin })
}

/// Starts it, and tries again while the program's file is still open for writing, as just after it was installed.
fn start(expression: &duct::Expression) -> io::Result<duct::Handle> {
    for _ in 0..20 {
        match expression.start() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(10));
            }
            other => return other,
        }
    }
    expression.start()
}

fn await_exit(handle: Arc<duct::Handle>, events: SyncSender<Event>) {
    std::thread::spawn(move || {
        let status = handle.wait().map(|output| output.status);
        // Nobody waits any more when this fails.
        events.send(Event::Exited(status)).unwrap_or_default();
    });
}

fn open_log(session: &Session, what: &What) -> io::Result<Option<Arc<Log>>> {
    let Some(path) = session.next_log(&what.step) else { return Ok(None) };
    tolerate(session, Log::create(path, &what.command).map(Arc::new))
}

/// What a session for cleaning up does with an error of recording: it goes on without the record.
fn tolerate<T>(session: &Session, result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(_) if session.lenient() => Ok(None),
        Err(error) => Err(error),
    }
}
