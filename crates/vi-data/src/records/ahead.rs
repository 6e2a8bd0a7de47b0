//! Records that a thread of their own reads ahead of the caller.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use super::Records;
use super::record::{Entries, Fault, Record, Source};

/// The most records and bytes of a batch, and the most batches that wait for the caller.
const RECORDS: usize = 256;
const BYTES: usize = 1 << 20;
const BATCHES: usize = 4;

/// Records in the order of the file, and the fault of the one after them.
#[derive(Debug, Default)]
struct Batch {
    /// The first `len` are those of the file; the others are memory for later ones.
    records: Vec<Record>,
    len: usize,
    fault: Option<Fault>,
}

impl Batch {
    /// Reads records until the batch is full. Returns whether there may be more.
    fn fill(&mut self, source: &mut dyn Source) -> bool {
        (self.len, self.fault) = (0, None);
        let mut bytes = 0;
        while self.len < RECORDS && bytes < BYTES {
            if self.len == self.records.len() {
                self.records.push(Record::default());
            }
            let record = &mut self.records[self.len];
            match source.next(record) {
                Ok(true) => (self.len, bytes) = (self.len + 1, bytes + record.size()),
                Ok(false) => return false,
                Err(fault) => {
                    let is_of_a_row = !matches!(fault, Fault::File(_));
                    self.fault = Some(fault);
                    return is_of_a_row;
                }
            }
        }
        true
    }
}

/// The records of another source, read by a thread.
pub(super) struct Ahead {
    columns: Vec<String>,
    entries: Option<Entries>,
    read: Receiver<Batch>,
    /// Takes batches back, whose memory is used again.
    used: Sender<Batch>,
    batch: Batch,
    next: usize,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    /// Lets a thread `open` records and read them.
    ///
    /// # Errors
    /// Those of `open`.
    pub(super) fn open<E: Send + 'static>(
        open: impl FnOnce() -> Result<Records<'static>, E> + Send + 'static,
    ) -> Result<Self, E> {
        let (opened, begun) = sync_channel(1);
        let (sender, read) = sync_channel(BATCHES);
        let (used, spare) = channel();
        let mut thread = Some(thread::spawn(move || {
            match open() {
                Ok(Records { mut source, .. }) => {
                    let head = (source.columns().to_vec(), source.entries());
                    if opened.send(Ok(head)).is_ok() {
                        send_all(&mut *source, &sender, &spare);
                    }
                }
                // Who asked waits for the answer.
                Err(error) => drop(opened.send(Err(error))),
            }
        }));
        let (columns, entries) = if let Ok(head) = begun.recv() {
            head?
        } else {
            ended(&mut thread);
            (Vec::new(), None)
        };
        Ok(Self { columns, entries, read, used, batch: Batch::default(), next: 0, thread })
    }
}

/// Sends all records of `source` in batches, until they end or nobody wants them.
fn send_all(source: &mut dyn Source, sender: &SyncSender<Batch>, spare: &Receiver<Batch>) {
    loop {
        let mut batch = spare.try_recv().unwrap_or_default();
        let more = batch.fill(source);
        if sender.send(batch).is_err() || !more {
            return;
        }
    }
}

/// Waits for the end of the thread, and goes on with its panic if it had one.
fn ended(thread: &mut Option<JoinHandle<()>>) {
    if let Some(Err(panic)) = thread.take().map(JoinHandle::join) {
        std::panic::resume_unwind(panic);
    }
}

impl Source for Ahead {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn entries(&self) -> Option<Entries> {
        self.entries
    }

    fn next(&mut self, record: &mut Record) -> Result<bool, Fault> {
        loop {
            if self.next < self.batch.len {
                std::mem::swap(record, &mut self.batch.records[self.next]);
                self.next += 1;
                return Ok(true);
            }
            if let Some(fault) = self.batch.fault.take() {
                return Err(fault);
            }
            let Ok(batch) = self.read.recv() else {
                ended(&mut self.thread);
                return Ok(false);
            };
            let used = std::mem::replace(&mut self.batch, batch);
            self.next = 0;
            // The thread has ended once the last batch is there.
            drop(self.used.send(used));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::io::{self, BufRead, BufReader, Read};

    use super::*;
    use crate::DataError;
    use crate::records::Format;

    /// All records, their rows and errors as texts.
    fn told(mut records: Records<'_>) -> Vec<String> {
        let (mut record, mut all) = (Record::default(), Vec::new());
        loop {
            match records.next(&mut record) {
                Ok(true) => all.push(format!("{} {:?}", records.row(), record.fields().collect::<Vec<_>>())),
                Ok(false) => return all,
                Err(error) => all.push(error.to_string()),
            }
            if all.last().is_some_and(|last| last.contains("broken")) {
                return all;
            }
        }
    }

    fn text() -> String {
        (0..2000).fold("a,b\n".to_owned(), |mut text, i| {
            let end = if i % 301 == 7 { ",too much" } else { "" };
            writeln!(text, "{i},x{i}{end}").unwrap();
            text
        })
    }

    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }

    #[test]
    fn records_and_faults_are_those_of_the_source_in_their_order() {
        let open = |text: String, broken: bool| -> Result<Records<'static>, DataError> {
            let bytes = io::Cursor::new(text.into_bytes());
            let reader: Box<dyn BufRead> =
                if broken { Box::new(BufReader::new(bytes.chain(Broken))) } else { Box::new(bytes) };
            Records::open(reader, Format::CSV)
        };
        for broken in [false, true] {
            let plain = told(open(text(), broken).unwrap());
            let ahead = told(Records::ahead(move || open(text(), broken)).unwrap());
            assert_eq!(plain, ahead);
            assert_eq!(plain.last().unwrap().contains("broken"), broken);
            assert_eq!(plain.iter().filter(|row| row.contains("has 3 fields")).count(), 7);
        }
        assert_eq!(
            Records::ahead(move || open(String::new(), false)).unwrap_err().to_string(),
            DataError::Empty.to_string()
        );
    }

    #[test]
    fn a_panic_of_the_thread_is_the_callers() {
        struct Bad;
        impl Read for Bad {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                panic!("bad reader")
            }
        }
        let start = "a,b\n1,2\n".as_bytes();
        let mut records = Records::ahead(|| Records::open(BufReader::new(start.chain(Bad)), Format::CSV)).unwrap();
        let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut record = Record::default();
            while records.next(&mut record).unwrap() {}
        }));
        assert!(read.is_err());
    }
}
