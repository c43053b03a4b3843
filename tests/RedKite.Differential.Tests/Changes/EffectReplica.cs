using System.Buffers;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Changes;

/// <summary>A RedKite in this process that executes effects and nothing else, as a log's replay or a replica does: nothing expires but by an effect.</summary>
internal sealed class EffectReplica : IDisposable
{
    private readonly HeldClock _clock = new();
    private readonly RedKiteServer _server;
    private readonly RedKiteSession _replaying;
    private readonly RedKiteSession _asking;
    private readonly RedKiteSession _digesting; // DEBUG DIGEST removes nothing, and leaves out what has expired only where it would be removed
    private long _replayMs;
    private int _database;

    public EffectReplica()
    {
        _server = RedKiteServer.StartAsync(WatchedServer.RedKiteOptions(_clock)).GetAwaiter().GetResult();
        _replaying = _server.CreateSession();
        _replaying.Expiry = ExpiryPolicy.Keep;
        _asking = _server.CreateSession();
        _asking.Expiry = ExpiryPolicy.Hide;
        _digesting = _server.CreateSession();
    }

    /// <summary>Empties the server and sets the time at which effects are replayed.</summary>
    public void Reset(long replayMs)
    {
        _replayMs = replayMs;
        _clock.NowMs = replayMs;
        foreach (string command in WatchedServer.Restore) Run(_asking, CommandLine.Split(command));
    }

    /// <summary>Executes a command that is not an effect.</summary>
    public void Configure(byte[][] command) => Run(_asking, command);

    /// <summary>Executes effects; null unless one is refused.</summary>
    public string? Replay(List<RecordedEffect> effects)
    {
        foreach (RecordedEffect effect in effects)
        {
            if (effect.Database != _database)
            {
                Run(_replaying, CommandLine.Split($"SELECT {effect.Database}"));
                _database = effect.Database;
            }

            if (Error(Run(_replaying, effect.Command)) is { } error) return $"{effect} is refused: {error}";
        }

        return null;
    }

    /// <summary>DEBUG DIGEST as of a time.</summary>
    public string DigestAt(long nowMs) => At(nowMs, () => Run(_digesting, CommandLine.Split("DEBUG DIGEST")).Text);

    /// <summary>All data as of a time, as <see cref="DatasetText"/> has it.</summary>
    public string[] StateAt(long nowMs) => At(nowMs, () => DatasetText.Of(command =>
    {
        // The digests of values are taken by the other one, in the same database.
        if (command[0].AsSpan().SequenceEqual("SELECT"u8)) Run(_digesting, command);
        return Run(command[0].AsSpan().SequenceEqual("DEBUG"u8) ? _digesting : _asking, command);
    }));

    public void Dispose() => _server.DisposeAsync().AsTask().GetAwaiter().GetResult();

    private T At<T>(long nowMs, Func<T> ask)
    {
        _clock.NowMs = nowMs;
        T answer = ask();
        _clock.NowMs = _replayMs;
        return answer;
    }

    // The reply itself, or one of a unit's replies.
    private static RespValue? Error(RespValue reply) => reply.IsError ? reply : reply.Items.FirstOrDefault(item => item.IsError);

    private static RespValue Run(RedKiteSession client, byte[][] command)
    {
        ArrayBufferWriter<byte> reply = new();
        client.Execute(CommandLine.Encode(command), reply);
        int at = 0;
        return new RespReader((buffer, offset) =>
        {
            int count = Math.Min(buffer.Length - offset, reply.WrittenCount - at);
            reply.WrittenSpan.Slice(at, count).CopyTo(buffer.AsSpan(offset));
            at += count;
            return count;
        }).Read();
    }
}
