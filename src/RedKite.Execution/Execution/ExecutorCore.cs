using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution;

/// <summary>What all parts of one executor share. It knows none of them.</summary>
internal sealed class ExecutorCore(Engine engine, CommandEnvironment environment, ReplyWriter reply, CommandOrigin origin)
{
    internal Engine Engine { get; } = engine;

    internal Keyspace Keyspace { get; } = engine.Keyspace;

    internal CommandEnvironment Environment { get; } = environment;

    /// <summary>Where the executor's commands reply, except those of scripts.</summary>
    internal ReplyWriter Reply { get; } = reply;

    /// <summary>The replies that wait for replicas.</summary>
    internal WriteReplies Writes { get; } = new(engine.Replication.Acks);

    /// <summary>Where the executor's commands come from.</summary>
    internal CommandOrigin Origin { get; } = origin;

    /// <summary>Whether its commands come from no client, so that no rule for clients refuses them: they were executed before, here or on a primary.</summary>
    internal bool IsTrusted { get; } = origin != CommandOrigin.Client;
}
