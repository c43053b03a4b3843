using System.Diagnostics;
using System.Text;
using RedKite.Server.Logging;
using RedKite.Server.Model;
using RedKite.Server.Replication;

namespace RedKite.Server.Following;

/// <summary>
/// Executes a primary's stream in its order, as a pipeline of a client for which nothing expires and nothing is refused, and appends what was executed
/// to the server's own stream, unchanged. Of a unit (MULTI to EXEC) all or nothing was executed.
/// </summary>
internal sealed class StreamApplier(ServerCore core, ReplicationStream stream, IStreamExecutor caller, Session session)
{
    private const int BufferBytes = 256 * 1024;
    private const int KeptBufferBytesMax = 16 * BufferBytes;
    private const int ErrorBytesShown = 200;
    private const int RefusedPollMs = 100;
    private const int PausedPollMs = 5;
    private const int UnitShare = 4; // of the process's memory: a unit is kept as it came, for the server's own stream, and as queued commands

    private readonly StreamUnit _unit = new(); // the requests of a unit that has begun
    private byte[] _buffer = GC.AllocateUninitializedArray<byte>(BufferBytes);
    private int _filled;

    /// <summary>Bytes that were received and not executed yet. From any thread.</summary>
    internal long WaitingBytes => Volatile.Read(ref _filled) + _unit.Bytes;

    /// <summary>Errors that commands of the stream have replied.</summary>
    internal long Errors { get; private set; }

    /// <summary>Receives a portion of the stream, and executes the whole requests of what has come.</summary>
    /// <exception cref="IOException">The link has ended, or what came is no stream.</exception>
    internal void Receive(PrimaryConnection connection)
    {
        if (_filled == _buffer.Length) Array.Resize(ref _buffer, checked(_buffer.Length * 2)); // a request that is longer
        int received = connection.ReceiveInto(_buffer.AsSpan(_filled));
        Volatile.Write(ref _filled, _filled + received);
        session.Counts.BytesReceived += received;
        WaitWhileRefused(connection);
        long start = Stopwatch.GetTimestamp();
        int executed = Execute(connection, _buffer.AsSpan(0, _filled));
        core.Replication.LinkCounts.NoteApplied(Stopwatch.GetTimestamp() - start);
        core.Metrics.Server.PrimaryBytes = _buffer.Length + _unit.MemoryBytes + (session.Transaction?.KeptBytes ?? 0); // of its primary: in used_memory as other clients
        if (executed == 0) return;
        int left = _filled - executed;
        _buffer.AsSpan(executed, left).CopyTo(_buffer);
        if (_buffer.Length > KeptBufferBytesMax && left < BufferBytes) _buffer = _buffer[..BufferBytes];
        Volatile.Write(ref _filled, left);
    }

    private int Execute(PrimaryConnection connection, Span<byte> input)
    {
        int position = 0;
        bool goesOn = true;
        while (goesOn && position < input.Length)
        {
            long errors = caller.Reply.Errors;
            int executed;
            lock (core.Replication.Applying)
            {
                executed = caller.Run(session, input[position..], core.MemoryBytesMax, out goesOn);
                if (caller.Reply.Errors != errors) NoteErrors(caller.Reply.Errors - errors);
                caller.Reply.Clear();
                core.Replication.NoteSelected(session.DatabaseIndex); // within a unit, too: what it selects is selected by its EXEC
                NoteExecuted(input.Slice(position, executed));
            }

            // Behind that: whatever ends the link, its successor goes on behind what was executed.
            if (session.ClosesAfterReply) throw new IOException("the primary's stream is none: it has a malformed request");
            if (caller.HasEnded) throw new IOException("the link was closed");
            position += executed;
            if (!session.IsPaused) continue;
            WaitWhilePaused(connection);
            goesOn = true;
        }

        return position;
    }

    // What was executed becomes part of the server's own stream, with a unit as a whole.
    private void NoteExecuted(ReadOnlySpan<byte> requests)
    {
        int whole = session.Transaction is null ? requests.Length : Math.Max(0, caller.UnitStart);
        if (whole > 0)
        {
            _unit.MoveTo(stream);
            stream.Append(requests[..whole]);
        }

        if (whole < requests.Length) _unit.Add(requests[whole..]);
        if (_unit.MemoryBytes > core.MemoryBytesMax / UnitShare) throw new IOException("a transaction of the primary's stream is larger than this process can hold");
    }

    // A replica that cannot keep what it executes goes no further.
    private void WaitWhileRefused(PrimaryConnection connection)
    {
        while (core.WriteGate.Refusal is not null && !core.Settings.ReplicaIgnoreDiskWriteErrors)
        {
            if (caller.HasEnded || connection.IsClosed) throw new IOException("the link was closed");
            connection.NoteAlive(); // nothing is read meanwhile
            Thread.Sleep(RefusedPollMs);
        }
    }

    // CLIENT PAUSE, or the write gate: what was received waits, and so does its offset. It holds no lock that a snapshot needs.
    private void WaitWhilePaused(PrimaryConnection connection)
    {
        while (!core.Pause.EndIfOver(core.Clock.SteadyMs))
        {
            if (caller.HasEnded || connection.IsClosed) throw new IOException("the link was closed");
            connection.NoteAlive();
            Thread.Sleep(PausedPollMs);
        }

        connection.NoteAlive();
        core.WriteGate.WaitToRetry();
        session.IsPaused = false;
    }

    private void NoteErrors(long errors)
    {
        if (Errors == 0)
        {
            ReadOnlySpan<byte> replies = caller.Reply.Tail;
            if (replies is not [(byte)'-', ..]) replies = replies[(replies.IndexOf("\n-"u8) + 1)..];
            string text = Encoding.UTF8.GetString(replies[..Math.Min(replies.Length, ErrorBytesShown)]);
            core.Log.Warning(LogEvents.StreamError, $"== CRITICAL == This replica is sending an error to its master: '{text.Split('\r')[0]}' after processing the command '{session.Counts.LastCommand?.FullName ?? "<unknown>"}'. Its data may differ from the primary's.");
        }

        Errors += errors;
        core.Replication.LinkCounts.NoteErrors(errors);
        Interlocked.Add(ref core.Metrics.Server.StreamErrors, errors);
    }
}
