using RedKite.Store.Keyspace;

namespace RedKite.Server.Model;

/// <summary>A handler's request to block its client. The invoker carries it out once the handler has returned.</summary>
internal sealed class BlockRequest
{
    /// <summary>The deadline of a client that blocks until it is served.</summary>
    internal const long NoDeadline = long.MaxValue;

    /// <summary>When the client stops waiting, by the steady clock.</summary>
    internal required long DeadlineMs { get; init; }

    /// <summary>The type of value that serves the client; null: it blocks on no key.</summary>
    internal DataType? Type { get; init; }

    /// <summary>Whether the command is also executed again when a key is removed or gets another type, to report that.</summary>
    internal bool WakesWhenGone { get; init; }

    /// <summary>Whether elements that are added to a list or sorted set may serve the client, not only a new key: it waits for several.</summary>
    internal bool WaitsForGrowth { get; init; }

    /// <summary>When the command is executed again even if no key has changed, by the steady clock; null: never.</summary>
    internal long? LooksAgainMs { get; init; }

    /// <summary>Makes the reply at the deadline; null: a null reply.</summary>
    internal Func<byte[]>? TimeoutReply { get; init; }

    /// <summary>The reply by which another thread ends the wait; null: none does.</summary>
    internal LateReply? Late { get; init; }

    internal ReadOnlySpan<byte> ReplyAtDeadline(bool resp3) => TimeoutReply is { } reply ? reply() : (resp3 ? "_\r\n"u8 : "*-1\r\n"u8);

    /// <summary>Whether only the thread that replies ends the wait: neither CLIENT UNBLOCK nor a change of the server's role.</summary>
    internal bool IsCertain { get; init; }

    /// <summary>The work that the client waits for, which is done in slices; null: none.</summary>
    internal SlicedWork? Work { get; init; }

    /// <summary>Arguments that get another value in later executions: XREAD's $ is the last id at the time of the call.</summary>
    internal List<(int Argument, byte[] Value)> Replacements { get; } = [];
}
