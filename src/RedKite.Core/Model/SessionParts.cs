using RedKite.Net;

namespace RedKite.Server.Model;

/// <summary>What belongs to the thread that executes the client's commands: its loop, the caller in the process, or, while its command is blocked, the thread that serves it. No other
/// thread reads or writes it meanwhile.</summary>
internal struct SessionOwn
{
    /// <summary>No earlier than the end of the client's last write in the append-only file.</summary>
    internal long LoggedPosition;

    /// <summary>No earlier than the end of the client's last write in the stream for replicas.</summary>
    internal long ReplicatedOffset;

    /// <summary>No earlier than the end of what the client's last command has written, while replies wait for replicas; 0: it has written nothing. Who makes the reply wait takes it.</summary>
    internal long UnackedOffset;

    /// <summary>The term in which that was written, if it was.</summary>
    internal AckTerm? UnackedTerm;

    /// <summary>Until when the reply may leave of what was begun last; null: without end. That of a command which has blocked is the blocked client's (<see cref="BlockedClient.ReplyDeadline"/>).</summary>
    internal OutputDeadline? Deadline;

    /// <summary>Bytes of the connection's buffers as its loop last counted them.</summary>
    internal long CountedBufferBytes;

    /// <summary>Whether the input that is being executed came in this iteration of the loop.</summary>
    internal bool HasNewInput;

    /// <summary>When the client's last wait for a blocking command ended, and what had been received until then.</summary>
    internal (Arrival End, long BytesReceived) LastWait;

    /// <summary>The buffers were above `close-hogs-above` when the loop last looked.</summary>
    internal bool HoldsTooMuch;
}

/// <summary>What a session's own thread counts and notes. Other threads read it for CLIENT LIST and reports, where a value may be a moment old.</summary>
internal struct SessionCounts
{
    internal long LastInteractionMs;

    internal Command? LastCommand;

    internal long BytesReceived;

    internal long BytesSent;

    /// <summary>The bytes of those commands that write.</summary>
    internal long BytesWritten;

    /// <summary>Commands executed for the client; those of its transactions and scripts count, and those refused do not, as in `total_commands_processed`.</summary>
    internal long CommandsProcessed;

    /// <summary>The largest number of bytes sent to the client at once in about the last five seconds.</summary>
    internal long ReplyBytesPeak;

    /// <summary>Bytes of the input that held the client's last command: that command and its pipeline.</summary>
    internal int InputBytes;

    /// <summary>The client has not taken its replies: nothing more is executed for it until it has.</summary>
    internal bool IsSuspended;
}
