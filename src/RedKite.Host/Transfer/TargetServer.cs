using System.Globalization;

namespace RedKite.Host.Transfer;

/// <summary>
/// The server that data is copied to. Commands are sent without waiting; their replies, which are short, are read when many are due.
/// </summary>
internal sealed class TargetServer(ServerLink link)
{
    private const int PendingMax = 512;

    private readonly Queue<Action<Reply>> _pending = new();

    internal ServerLink Link => link;

    /// <summary>Announces a command that is sent now, by its link, and what becomes of its reply.</summary>
    internal void Expect(Action<Reply> onReply)
    {
        _pending.Enqueue(onReply);
        if (_pending.Count < PendingMax) return;
        link.Flush();
        while (_pending.Count > PendingMax / 2) ReadReply();
    }

    /// <summary>Sends a command whose error ends the transfer.</summary>
    internal void Send(params ReadOnlySpan<Word> words)
    {
        link.Queue(words);
        Expect(OrFail);
    }

    /// <summary>Waits until all replies are there.</summary>
    internal void Drain()
    {
        link.Flush();
        while (_pending.Count > 0) ReadReply();
    }

    internal void Select(int database)
    {
        Reply reply = link.Run("SELECT", database);
        if (reply.IsError) throw link.Fail(string.Create(CultureInfo.InvariantCulture, $"database {database} of the source does not exist here ({reply.Text}); raise the setting databases"));
    }

    internal void OrFail(Reply reply)
    {
        if (reply.IsError) throw Refused(reply);
    }

    /// <summary>The error for a refusal that ends the transfer.</summary>
    internal TransferException Refused(Reply reply) => reply.Text.StartsWith("OOM", StringComparison.Ordinal)
        ? link.Fail($"the server is full (maxmemory): {reply.Text}")
        : link.Refused(reply);

    private void ReadReply() => _pending.Dequeue()(link.Read());
}
