using System.Buffers;
using System.Diagnostics;
using RedKite.Protocol;
using RedKite.Server.Client;
using RedKite.Server.Diagnostics.Export;

namespace RedKite;

/// <summary>
/// Commands that are collected to be executed together: each method of the typed client that needs no buffer of its caller, and any other command. One thread at
/// a time. What a method returns has its result once the commands were executed.
/// </summary>
public abstract partial class RedKiteQueue
{
    private readonly ArrayBufferWriter<byte> _requests = new();
    private readonly List<RedKiteQueued> _queued = [];

    private protected RedKiteQueue(ClientParts parts, int database)
    {
        Parts = parts;
        Database = database;
    }

    /// <summary>How many commands were queued.</summary>
    public int Count => _queued.Count;

    /// <summary>The command that is being added.</summary>
    internal RequestBuffer Request { get; } = new();

    private protected ClientParts Parts { get; }

    private protected int Database { get; }

    private protected IReadOnlyList<RedKiteQueued> Queued => _queued;

    private protected ReadOnlySpan<byte> Requests => _requests.WrittenSpan;

    /// <summary>Queues any command, given as strings that are sent as UTF-8.</summary>
    /// <exception cref="ArgumentException">There is no argument, or one is null.</exception>
    public RedKiteQueued Queue(params ReadOnlySpan<string> arguments)
    {
        ThrowIfEmpty(arguments.Length);
        return Begin().Add(arguments).Done();
    }

    /// <summary>Queues any command, given as bytes.</summary>
    /// <exception cref="ArgumentException">There is no argument.</exception>
    public RedKiteQueued Queue(params ReadOnlySpan<ReadOnlyMemory<byte>> arguments)
    {
        ThrowIfEmpty(arguments.Length);
        return Begin().Add(arguments).Done();
    }

    /// <summary>Adds the command that was built.</summary>
    internal T Enqueue<T>(T queued)
        where T : RedKiteQueued
    {
        if (Request.IsTooLarge) throw new ArgumentException("The command's arguments together are too large.");
        RequestText.Begin(_requests, Request.Count);
        for (int i = 0; i < Request.Count; i++) RequestText.AddArgument(_requests, Request[i]);
        Request.Clear();
        _queued.Add(queued);
        return queued;
    }

    // A transaction is executed once, a batch as often as wanted.
    private protected virtual void ThrowIfExecuted()
    {
    }

    private protected void Clear()
    {
        _requests.ResetWrittenCount();
        _queued.Clear();
    }

    private protected static void NoteFirstError(Activity? span, IReadOnlyList<RedKiteReply> replies)
    {
        if (span is not null && replies.FirstOrDefault(static reply => reply.IsError) is { } error) CommandSpans.NoteError(span, error.Text!);
    }

    // Forgets a command whose arguments were refused.
    private QueuedCall Begin()
    {
        ThrowIfExecuted();
        Request.Clear();
        return new QueuedCall(this);
    }

    private QueuedCall Begin(scoped ReadOnlySpan<byte> name) => Begin().Add(name);

    private QueuedCall Begin(scoped ReadOnlySpan<byte> name, scoped RedKiteArgument key) => Begin(name).Add(key);

    private static void ThrowIfEmpty(int arguments)
    {
        if (arguments == 0) throw new ArgumentException("A command has at least its name.");
    }

    private static long Ms(TimeSpan time) => (long)Math.Ceiling(time.TotalMilliseconds);

    private static long? Ms(TimeSpan? time) => time is { } given ? Ms(given) : null;
}
