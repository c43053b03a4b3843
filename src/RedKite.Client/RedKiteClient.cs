using System.Diagnostics;
using RedKite.Server.Client;
using RedKite.Server.Diagnostics.Export;
using RedKite.Server.Durability;
using RedKite.Server.Execution;
using RedKite.Server.Model;

namespace RedKite;

/// <summary>
/// The typed client of a server in this process: each method is one command, executed at once on the calling thread, without a socket and without the
/// protocol's text. Thread-safe, at any number of threads; it has no state but its database, so there is nothing to dispose.
/// </summary>
/// <remarks>
/// What waits is a task and keeps no thread: blocking pops, subscriptions, reading a stream as it grows, WAIT. With `appendfsync always`, each method returns
/// when its change is on the disk, which keeps the calling thread; see <see cref="WithoutLogWait"/>. MULTI and WATCH are
/// <see cref="CreateTransaction"/>, SELECT is <see cref="Database"/>; whatever else needs a connection's state is a <see cref="RedKiteSession"/>.
/// </remarks>
public sealed partial class RedKiteClient : RedKiteCommands
{
    private readonly ClientParts _parts;
    private readonly int _database;
    private readonly bool _skipsLogWait;

    internal RedKiteClient(ClientParts parts, int database = 0, bool skipsLogWait = false)
    {
        _parts = parts;
        _database = database;
        _skipsLogWait = skipsLogWait;
    }

    /// <summary>The index of the client's database.</summary>
    public int DatabaseIndex => _database;

    /// <summary>A client of another database.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The server has no such database.</exception>
    public RedKiteClient Database(int index)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(index);
        ArgumentOutOfRangeException.ThrowIfGreaterThanOrEqual(index, _parts.Engine.Keyspace.Databases.Length);
        return new RedKiteClient(_parts, index, _skipsLogWait);
    }

    /// <summary>
    /// A client whose methods return once they have executed, also with `appendfsync always`: what they change is on the disk when
    /// <see cref="WaitForLogAsync"/> has completed. Without an append-only file it is the same client.
    /// </summary>
    public RedKiteClient WithoutLogWait() => new(_parts, _database, skipsLogWait: true);

    /// <summary>Completes when everything that was executed so far, by any client, is on the disk, if `appendfsync always` requires that.</summary>
    /// <exception cref="IOException">The append-only file cannot be written.</exception>
    public async ValueTask WaitForLogAsync(CancellationToken cancellationToken = default)
    {
        if (_parts.Engine.SyncedLog.Log is not { } log) return;
        if (!await log.WhenSyncedAsync(failures: null, cancellationToken).ConfigureAwait(false)) throw LogFailure(log);
    }

    /// <summary>
    /// Executes any command, given as strings. An error is a reply. The reply to a command that only later commands of the same connection would notice (SELECT, MULTI,
    /// WATCH, SUBSCRIBE, ...) is an error: it needs a <see cref="RedKiteSession"/>. A blocking command keeps the calling thread; see
    /// <see cref="ExecuteAsync(ReadOnlySpan{string}, CancellationToken)"/>.
    /// </summary>
    /// <exception cref="ArgumentException">There is no argument, or one is null.</exception>
    public override RedKiteReply Execute(params ReadOnlySpan<string> arguments)
    {
        ThrowIfNull(arguments);
        var target = (Caller)Target();
        return Execute(target, new ClientCall(target).Add(arguments));
    }

    /// <inheritdoc cref="Execute(ReadOnlySpan{string})"/>
    public override RedKiteReply Execute(params ReadOnlySpan<ReadOnlyMemory<byte>> arguments)
    {
        ThrowIfEmpty(arguments.Length);
        var target = (Caller)Target();
        return Execute(target, new ClientCall(target).Add(arguments));
    }

    /// <summary>Executes any command; if it blocks, no thread waits. An error is a reply.</summary>
    /// <exception cref="ArgumentException">There is no argument, or one is null.</exception>
    /// <exception cref="OperationCanceledException">The token has ended the wait; the command has had no effect.</exception>
    public ValueTask<RedKiteReply> ExecuteAsync(ReadOnlySpan<string> arguments, CancellationToken cancellationToken = default)
    {
        ThrowIfNull(arguments);
        var target = (Caller)Target();
        _ = new ClientCall(target).Add(arguments);
        return RunAsync(target, cancellationToken);
    }

    /// <summary>Commands that are executed together, without other clients being kept out in between.</summary>
    public RedKiteBatch CreateBatch() => new(_parts, _database);

    /// <summary>Commands that are executed without any other in between, on the condition that watched keys have not changed. MULTI, EXEC, WATCH.</summary>
    public RedKiteTransaction CreateTransaction() => new(_parts, _database);

    internal override CallTarget Target()
    {
        Caller caller = _parts.Callers.Take(_database);
        caller.SkipsLogWait = _skipsLogWait;
        return caller;
    }

    internal static IOException LogFailure(ISyncedLog log) =>
        new($"The command was executed, but the append-only file cannot be written: {log.FailureText ?? "it failed meanwhile"}");

    private static RedKiteReply Execute(Caller caller, ClientCall call)
    {
        string name = System.Text.Encoding.UTF8.GetString(caller.Request[0]);
        caller.WasStateful = false;
        RedKiteReply reply = call.TreeOrError();
        return caller.WasStateful ? RedKiteReply.Error($"ERR {name.ToUpperInvariant()} has no effect here, because each call has a client of its own: use one of CreateSession()") : reply;
    }

    private static void ThrowIfNull(ReadOnlySpan<string> arguments)
    {
        ThrowIfEmpty(arguments.Length);
        for (int i = 0; i < arguments.Length; i++)
        {
            if (arguments[i] is null) throw new ArgumentException($"Argument {i} of the command is null.", nameof(arguments));
        }
    }

    // What was refused because the log failed was not executed.
    private static async ValueTask<RedKiteReply> AfterLog(ValueTask<RedKiteReply> reply, ISyncedLog log, long? failures, CancellationToken cancellation)
    {
        RedKiteReply result = await reply.ConfigureAwait(false);
        if (await log.WhenSyncedAsync(failures, cancellation).ConfigureAwait(false)) return result;
        return result.IsError && result.Text!.StartsWith("MISCONF ", StringComparison.Ordinal) ? result : throw LogFailure(log);
    }

    // In a cluster with a store: the last thing before the reply is returned.
    private static async ValueTask<RedKiteReply> InTime(ValueTask<RedKiteReply> reply, Session session)
    {
        RedKiteReply result = await reply.ConfigureAwait(false);
        return session.Own.Deadline is { HasPassed: true } missed ? throw Caller.LeaseEnded(missed) : result;
    }

    private ValueTask<RedKiteReply> RunAsync(Caller caller, CancellationToken cancellation) => caller.MakesSpans ? RunWithSpanAsync(caller, cancellation) : RunNowAsync(caller, cancellation);

    // The wait is a part of the span.
    private async ValueTask<RedKiteReply> RunWithSpanAsync(Caller caller, CancellationToken cancellation)
    {
        using Activity? span = CommandSpans.Begin(caller.CommandName, _database);
        try
        {
            RedKiteReply reply = await RunNowAsync(caller, cancellation).ConfigureAwait(false);
            if (reply.IsError) CommandSpans.NoteError(span, reply.Text!);
            return reply;
        }
        catch (Exception failure)
        {
            CommandSpans.NoteFailure(span, failure);
            throw;
        }
    }

    private ValueTask<RedKiteReply> RunNowAsync(Caller caller, CancellationToken cancellation)
    {
        ISyncedLog? log = _skipsLogWait ? null : _parts.Engine.SyncedLog.Log;
        long failures = log?.Failures ?? 0;
        ValueTask<RedKiteReply> reply = _parts.Waits.Run(caller, _database, out Session session, cancellation);
        if (log is not null) reply = AfterLog(reply, log, reply.IsCompleted ? failures : null, cancellation); // what has waited, perhaps for hours, was executed by another command: failures before that are none of it
        return _parts.Engine.Routing.Lease is null ? reply : InTime(reply, session);
    }
}

/// <summary>What the clients of a server share.</summary>
internal sealed class ClientParts
{
    internal ClientParts(Engine engine)
    {
        Engine = engine;
        Callers = new CallerPool(engine);
        Waits = new AsyncWaits(engine, Callers);
        Subscriptions = new SubscriptionRegistry();
    }

    internal Engine Engine { get; }

    internal CallerPool Callers { get; }

    internal AsyncWaits Waits { get; }

    internal SubscriptionRegistry Subscriptions { get; }

    /// <summary>Ends everything with the server.</summary>
    internal void End()
    {
        Subscriptions.End();
        Waits.End();
        Callers.End();
        Waits.Join();
    }
}
