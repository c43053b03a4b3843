using RedKite.Net;
using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.Server.Replication;

namespace RedKite.Server.Execution;

/// <summary>Receives replies that wait for replicas.</summary>
internal interface IUnackedReplies
{
    /// <summary>Makes replies wait that the connection is sent next. On its loop.</summary>
    void Add(Connection connection, AckTerm term, ReadOnlySpan<WriteReply> replies);
}

/// <summary>
/// Which of the replies that an executor has written, and that were not sent yet, are those of commands that wrote: with replica-acks they wait for replicas.
/// While that is off, nothing is noted.
/// </summary>
/// <remarks>
/// Short commands are told apart by where the reply before ended (<see cref="SkipTo"/>). Those that are logged together get the offset behind the last of
/// them. Messages to the client itself stand between replies, and belong to none.
/// </remarks>
internal sealed class WriteReplies(ReplicaAcks acks)
{
    private WriteReply[] _replies = new WriteReply[64];
    private int _count;
    private int _published; // those before have their offset
    private long _start; // of the next reply
    private long _pushed; // bytes behind the reply that is being noted
    private AckTerm? _term;
    private bool _isRunning;
    private IUnackedReplies? _loop; // receives them when they are sent; null: a caller in the process takes them itself

    /// <summary>Whether replies of short commands are noted.</summary>
    internal bool IsOn { get; private set; }

    /// <summary>Replies that are noted.</summary>
    internal int Count => _count;

    /// <summary>The term in which they were written.</summary>
    internal AckTerm? Term => _term;

    /// <summary>The largest offset among them.</summary>
    internal long LastOffset => _count == 0 ? 0 : _replies[_count - 1].Offset;

    /// <summary>Names what receives them, once.</summary>
    internal void Use(IUnackedReplies loop) => _loop = loop;

    /// <summary>A client of the loop is sent the reply of a command that another one has executed for it, and that has written.</summary>
    internal void AwaitServed(Connection connection, Session session, long bytes)
    {
        long offset = session.Own.UnackedOffset;
        session.Own.UnackedOffset = 0;
        if (session.Own.UnackedTerm is { } term) _loop?.Add(connection, term, [new WriteReply(0, bytes, offset)]); // not the term of now: the role may have changed since
    }

    /// <summary>Before requests of a client are executed.</summary>
    internal void Begin(Session session)
    {
        _isRunning = true;
        Clear();
        TakeTerm();
        if (session.Own.UnackedOffset == 0) return;
        if (session.Own.UnackedTerm == _term) Add(default); // it has written without a reply: the next one waits
        NotePublished(session);
    }

    /// <summary>Behind them. What was written without a reply is left to the client's next one.</summary>
    /// <param name="session">The client.</param>
    /// <param name="isSent">Whether a reply is about to be sent; a caller in the process takes them, sent or not.</param>
    internal void End(Session session, bool isSent)
    {
        IsOn = _isRunning = false;
        if (_count == 0 || isSent || _loop is null) return;
        session.Own.UnackedOffset = LastOffset;
        Clear();
    }

    /// <summary>The next reply begins here.</summary>
    internal void SkipTo(long position)
    {
        _start = position;
        _pushed = 0;
    }

    /// <summary>Messages were written behind the reply of a short command.</summary>
    internal void NotePushed(long bytes) => _pushed += bytes;

    /// <summary>A short command has replied, which is published later.</summary>
    internal void NoteShort(bool wrote, long end)
    {
        if (wrote) Add(new WriteReply(_start, end - _pushed - _start, 0));
        SkipTo(end);
    }

    /// <summary>The short commands so far are published.</summary>
    internal void NotePublished(Session session)
    {
        long offset = session.Own.UnackedOffset;
        session.Own.UnackedOffset = 0;
        if (offset == 0) _count = _published; // without an effect
        else if (_count > 0 && (_published == 0 || _term is null or { IsLetGo: true })) _term = session.Own.UnackedTerm; // perhaps one that has ended since
        for (; _published < _count; _published++) _replies[_published] = _replies[_published] with { Offset = offset };
    }

    /// <summary>A command has replied that has written. One of a caller's single requests is left to the caller.</summary>
    internal void NoteInvoked(Session session, long start, long end)
    {
        if (!_isRunning) return;
        TakeTerm();
        Add(new WriteReply(start, Math.Max(0, end - start), 0));
        NotePublished(session);
    }

    /// <summary>Short commands have written in a term that has begun since they were begun. Their replies were not told apart and leave; what follows them waits.</summary>
    internal void NoteBegun(Session session, long position)
    {
        Add(new WriteReply(position, 0, 0));
        NotePublished(session);
        SkipTo(position);
        IsOn = _term is not null;
    }

    /// <summary>As <see cref="NoteInvoked"/> for the last command of a caller, which has waited.</summary>
    internal void NoteLast(Session session, long start, long end)
    {
        Add(new WriteReply(start, Math.Max(0, end - start), 0));
        NotePublished(session);
    }

    /// <summary>Behind a command that may have changed the setting.</summary>
    internal void Refresh(long position)
    {
        SkipTo(position);
        TakeTerm();
    }

    /// <summary>Makes the replies wait that the connection is sent next.</summary>
    internal void AwaitIn(Connection connection)
    {
        if (_term is { } term) _loop?.Add(connection, term, _replies.AsSpan(0, _count));
        Clear();
    }

    /// <summary>Replaces the replies in a writer that were not acknowledged.</summary>
    internal void Fail(ReplyWriter reply, long acknowledged, ReadOnlySpan<byte> error)
    {
        var old = new byte[reply.Length];
        int length = 0;
        foreach (ReplyChunk chunk in reply.Chunks)
        {
            chunk.Bytes.CopyTo(old.AsSpan(length));
            length += chunk.Length;
        }

        reply.Tail.CopyTo(old.AsSpan(length));
        reply.Clear();
        int position = 0;
        foreach (WriteReply failed in _replies.AsSpan(0, _count))
        {
            if (failed.Offset <= acknowledged || failed.Bytes == 0) continue;
            reply.Raw(old.AsSpan(position, (int)failed.Start - position));
            reply.Raw(error);
            position = (int)(failed.Start + failed.Bytes);
        }

        reply.Raw(old.AsSpan(position));
    }

    /// <summary>Forgets them: what was written is sent, or gone.</summary>
    internal void Clear()
    {
        _count = _published = 0;
        _start = _pushed = 0;
    }

    // What was noted in a term that was lost stays in it, and what follows with it.
    private void TakeTerm()
    {
        if (_count == 0 || _term is null or { IsLetGo: true }) _term = acks.Term;
        IsOn = _term is not null;
    }

    private void Add(in WriteReply reply)
    {
        if (_count == _replies.Length) Array.Resize(ref _replies, _count * 2);
        _replies[_count++] = reply;
    }
}
