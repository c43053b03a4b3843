using RedKite.Persistence.Rdb;
using RedKite.Server.Model;

namespace RedKite.Server.Durability;

/// <summary>What durability asks of the server around it, and tells it. On the threads that a member names.</summary>
internal interface IDurabilityHost
{
    /// <summary>The position in the stream for replicas that the data of now belongs to; null: there is none. With all stripes locked.</summary>
    RdbReplication? Position { get; }

    /// <summary>The changes that commands have counted since the start.</summary>
    long Changes { get; }

    /// <summary>The commands that were executed since the start.</summary>
    long Commands { get; }

    /// <summary>The data became another than that of the files. On the thread that replaced it.</summary>
    void DataReplaced();

    /// <summary>The server stops: nothing is executed any more, and the log is about to be completed.</summary>
    void Stopping();

    /// <summary>A log is in use from now on. On a thread of the log.</summary>
    void LogBegan(ISyncedLog log);

    /// <summary>The log in use ends.</summary>
    void LogEnded();

    /// <summary>Everything up to a position is on the disk. On a thread of the log.</summary>
    void LogSynced(long position);

    /// <summary>The log fails: commands that write are refused, and those that had begun are executed. On a thread of the log.</summary>
    void LogAbandoned(ISyncedLog log);

    /// <summary>Ends the wait of a client by a reply. From any thread, which waits for nothing.</summary>
    void ReplyLater(Session session, LateReply wait, byte[] reply);
}
