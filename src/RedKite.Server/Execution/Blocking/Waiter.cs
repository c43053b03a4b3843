using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution.Blocking;

/// <summary>A key that a waiter waits for.</summary>
internal struct AwaitedKey
{
    internal KeyIdentity Identity;
    internal int Stripe;
    internal int Argument;
    internal LinkedListNode<Waiter> Node; // its place in the key's queue
}

/// <summary>
/// A client that waits for one of several keys to become readable, with a copy of its command, which is executed anew
/// when one may be. Whether it still waits is decided with all of its keys' stripes locked, so that it is served, or
/// timed out, or ended, once.
/// </summary>
internal sealed class Waiter : IDisposable
{
    private readonly SemaphoreSlim? _ended; // for a caller in the process, which sleeps on it

    internal Waiter(Session session, Command command, DataType type, long deadlineMs)
    {
        Session = session;
        Command = command;
        Type = type;
        DeadlineMs = deadlineMs;
        if (session.Connection is null) _ended = new SemaphoreSlim(0);
    }

    internal Session Session { get; }

    internal Command Command { get; }

    /// <summary>The type of value that is waited for.</summary>
    internal DataType Type { get; }

    /// <summary>When the wait ends, in Unix milliseconds; <see cref="TimeoutArgument.Never"/>: it does not.</summary>
    internal long DeadlineMs { get; }

    /// <summary>Whether the command wants to be executed when its key is gone or holds another type, to reply that.</summary>
    internal bool WakesWhenGone { get; init; }

    /// <summary>The arguments' bytes.</summary>
    internal byte[] Input { get; private set; } = [];

    internal ArgumentSlice[] Arguments { get; private set; } = [];

    internal AwaitedKey[] Keys { get; set; } = [];

    /// <summary>The stripes of all keys that the command names.</summary>
    internal StripeSet Stripes { get; init; }

    internal ulong FirstKeyHash { get; init; }

    /// <summary>Whether it waits no more. Read and written with <see cref="Stripes"/> locked.</summary>
    internal bool HasEnded { get; set; }

    /// <summary>What is replied; null: what the loop replies to a wait for keys that is over.</summary>
    internal Payload[]? Reply { get; set; }

    /// <summary>Whether the reply got larger than a client may have; its connection ends.</summary>
    internal bool Overflowed { get; set; }

    /// <summary>The client wants no reply to this command.</summary>
    internal bool DropsReply { get; set; }

    /// <summary>The key's name.</summary>
    internal ReadOnlySpan<byte> NameOf(in AwaitedKey key) => Input.AsSpan(Arguments[key.Argument].Start, Arguments[key.Argument].Length);

    /// <summary>Copies the command's arguments.</summary>
    internal void CopyArguments(scoped in CommandContext cmd)
    {
        int bytes = 0;
        for (int i = 0; i < cmd.Count; i++) bytes += cmd[i].Length;
        Input = new byte[bytes];
        Arguments = new ArgumentSlice[cmd.Count];
        int at = 0;
        for (int i = 0; i < cmd.Count; i++)
        {
            cmd[i].CopyTo(Input.AsSpan(at));
            Arguments[i] = new ArgumentSlice(at, cmd[i].Length);
            at += cmd[i].Length;
        }
    }

    /// <summary>Gives an argument another value for the executions to come: XREAD's $ means what was last when it began.</summary>
    internal void ReplaceArgument(int index, ReadOnlySpan<byte> value)
    {
        Arguments[index] = new ArgumentSlice(Input.Length, value.Length);
        Input = [.. Input, .. value];
    }

    /// <summary>Sleeps until the wait has ended, at most so long. For a caller in the process.</summary>
    internal bool Sleep(int milliseconds) => _ended!.Wait(milliseconds);

    /// <summary>Wakes the caller in the process.</summary>
    internal void Wake() => _ended!.Release();

    /// <summary>Releases the reply, which was sent or is wanted no more.</summary>
    internal void ReleaseReply()
    {
        foreach (Payload part in Reply ?? []) part.Buffer.Release();
        Reply = null;
    }

    public void Dispose() => _ended?.Dispose();
}
