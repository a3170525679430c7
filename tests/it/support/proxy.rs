//! A go-between on the way to Postgres. It knows where messages of the protocol begin
//! and end, and breaks, delays or freezes what passes at a message of one's choice.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream, UnixStream},
    sync::watch,
};
use tokio_util::sync::CancellationToken;

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    ToServer,
    ToClient,
}

/// What happens at the chosen message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// Both ends find the connection closed, and the message is lost.
    Cut,
    /// The message and all after it are lost, and its receiver reads the end; the other
    /// way stays open.
    HalfClose,
    /// It comes late.
    Delay(Duration),
    /// From here on nothing passes either way, and nobody is told, until a thaw. On the
    /// way to the server that is between two flights: a process that is stopped has
    /// written a whole one or nothing, unless it is larger than the socket's buffer.
    Freeze,
}

#[derive(Debug, Clone, Copy)]
struct Fault {
    way: Way,
    /// Messages that pass before.
    left: usize,
    act: Act,
}

struct State {
    fault: Mutex<Option<Fault>>,
    frozen: watch::Sender<bool>,
}

/// A listener on loopback that passes on to a server's unix socket.
pub(crate) struct Proxy {
    port: u16,
    state: Arc<State>,
    ended: CancellationToken,
}

impl Proxy {
    /// Passes on to the server whose socket lies in this directory.
    pub(crate) async fn to(socket_dir: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State { fault: Mutex::new(None), frozen: watch::channel(false).0 });
        let ended = CancellationToken::new();
        let (shared, token) = (state.clone(), ended.clone());
        tokio::spawn(async move {
            while let Some(Ok((client, _))) = token.run_until_cancelled(listener.accept()).await {
                let (socket, state) = (socket_dir.join(".s.PGSQL.5432"), shared.clone());
                let token = token.child_token();
                tokio::spawn(async move {
                    // A server that is not there: the client finds its connection closed.
                    if let Ok(server) = UnixStream::connect(socket).await {
                        join(&state, client, server, token).await;
                    }
                });
            }
        });
        Self { port, state, ended }
    }

    /// The URL of a database behind it.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgresql://bursar@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    /// Lets so many messages of that way pass, then acts, once.
    pub(crate) fn arm(&self, way: Way, after: usize, act: Act) {
        *self.state.fault.lock().unwrap() = Some(Fault { way, left: after, act });
    }

    /// Takes the fault back. Whether it has come to pass.
    pub(crate) fn disarm(&self) -> bool {
        self.state.fault.lock().unwrap().take().is_none()
    }

    /// Whether the fault has come to pass.
    pub(crate) fn has_acted(&self) -> bool {
        self.state.fault.lock().unwrap().is_none()
    }

    /// Nothing passes any more, and nobody is told.
    pub(crate) fn freeze(&self) {
        self.state.frozen.send_replace(true);
    }

    /// Ends a freeze: all that waits passes now.
    pub(crate) fn thaw(&self) {
        self.state.frozen.send_replace(false);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

async fn join(state: &State, client: TcpStream, server: UnixStream, cut: CancellationToken) {
    let _ = client.set_nodelay(true);
    let (client_reads, client_writes) = client.into_split();
    let (server_reads, server_writes) = server.into_split();
    let both = async {
        tokio::join!(
            pump(state, (Way::ToServer, &cut), client_reads, server_writes),
            pump(state, (Way::ToClient, &cut), server_reads, client_writes)
        )
    };
    cut.run_until_cancelled(both).await;
}

/// Passes messages on until the sender ends or something happens to one.
async fn pump(
    state: &State,
    (way, cut): (Way, &CancellationToken),
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
) {
    let mut buffer = Vec::new();
    // The first message of a client has no letter in front of its length.
    let mut letter = usize::from(way == Way::ToClient);
    let mut in_flight = false;
    while matches!(from.read_buf(&mut buffer).await, Ok(1..)) {
        while let Some(length) = message_length(&buffer, letter) {
            let met = state.meets(way, in_flight && way == Way::ToServer);
            in_flight = letter == 1 && !b"SQX".contains(&buffer[0]);
            letter = 1;
            match met {
                None => {}
                Some(Act::Cut) => return cut.cancel(),
                Some(Act::HalfClose) => {
                    let _ = to.shutdown().await;
                    return;
                }
                Some(Act::Delay(time)) => tokio::time::sleep(time).await,
                Some(Act::Freeze) => drop(state.frozen.send_replace(true)),
            }
            let _ = state.frozen.subscribe().wait_for(|frozen| !frozen).await;
            let message: Vec<u8> = buffer.drain(..length).collect();
            if to.write_all(&message).await.is_err() {
                return;
            }
        }
    }
    let _ = to.shutdown().await;
}

/// The length of the first message, if all of it is there.
fn message_length(buffer: &[u8], letter: usize) -> Option<usize> {
    let length = buffer.get(letter..letter + 4)?;
    let length = u32::from_be_bytes(length.try_into().unwrap());
    let whole = letter + usize::try_from(length).unwrap();
    (buffer.len() >= whole).then_some(whole)
}

impl State {
    fn meets(&self, way: Way, in_flight: bool) -> Option<Act> {
        let mut fault = self.fault.lock().unwrap();
        let it = fault.as_mut().filter(|it| it.way == way)?;
        if it.left > 0 {
            it.left -= 1;
            return None;
        }
        if it.act == Act::Freeze && in_flight {
            return None;
        }
        fault.take().map(|it| it.act)
    }
}
