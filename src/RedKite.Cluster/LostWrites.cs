using System.Globalization;
using RedKite.Persistence.Files;
using RedKite.Server.Logging;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster;

/// <summary>
/// What a former primary has executed and its successor has not, before the successor's data replaces it: it is written to the file lost-writes-SHARD-TIME.aof, a log without a base. It is the
/// part of its own stream behind the offset with which the successor took over, as far as the backlog has it. Where it cannot be told, that is said.
/// </summary>
/// <remarks>Noted under the lock of the cluster's state, and taken once, by the first link behind that.</remarks>
internal sealed class LostWrites(ServerCore core, IClusterHost host, IFiles files)
{
    private const int BufferBytes = 64 * 1024;

    private string? _formerShard; // whose primary this node was, since when no successor has been followed
    private volatile Loss? _last;

    /// <summary>How long a loss of which there is no file is a finding.</summary>
    internal static TimeSpan UntoldFor { get; } = TimeSpan.FromHours(1);

    /// <summary>The last loss, while it is news: its file is in the folder still, or it was an hour ago at most. Null: there is none.</summary>
    internal string? News =>
        _last is { } last && (last.File is { } file ? files.FileExists(file) : core.Clock.SteadyMs - last.SinceMs < UntoldFor.TotalMilliseconds) ? last.Text : null;

    /// <summary>This node was a shard's primary, and is to follow another one.</summary>
    internal void NoteSuccessor(string shardId) => Volatile.Write(ref _formerShard, shardId);

    /// <summary>This node was a shard's primary, was taken out of it, and is in another one: its keys belong to other nodes by now, and are removed here.</summary>
    internal void NoteTakenOut(string shardId)
    {
        if (HasKeys) Note(null, $"This node was the primary of the shard {shardId} and is in another one now. Whether it has executed writes that its successor lacks cannot be told.");
    }

    /// <summary>The primary has answered a link: it sends all its data, in place of this node's, or what is missing here alone. On the link's thread.</summary>
    /// <exception cref="OperationCanceledException">The link is ended: the next one begins anew.</exception>
    internal void NoteAnswer(bool isFull, ClusterState state, CancellationToken cancellation)
    {
        if (Interlocked.Exchange(ref _formerShard, null) is not { } shard || !isFull || state.Self.ShardId != shard) return;
        ShardTerms terms = state.Topology.Terms.Of(shard);
        string who = $"This node was the primary of the shard {shard} and follows {state.Self.PrimaryId} now.";
        if (host.Position is { } own && own.History == terms.TakenOverFrom && terms.TakenOverAt >= 0)
        {
            if (own.Offset > terms.TakenOverAt) Keep(who, shard, terms, own.Offset, cancellation);
        }
        else if (HasKeys && !IsBefore(terms))
        {
            Note(null, $"{who} Whether it has executed writes that are missing there cannot be told: it was started again since, had no backlog (repl-backlog-ttl), or more than one primary has taken over.");
        }
    }

    private bool HasKeys
    {
        get
        {
            foreach (Database database in core.Keyspace.Databases)
            {
                if (database.Count > 0) return true;
            }

            return false;
        }
    }

    // It was loaded from a file that names its place, and has executed nothing since.
    private bool IsBefore(ShardTerms terms) => core.Replication.Ids is { } ids && ids.SecondId == terms.TakenOverFrom && ids.SecondOffset - 1 <= terms.TakenOverAt;

    private void Keep(string who, string shard, ShardTerms terms, long to, CancellationToken cancellation)
    {
        long from = terms.TakenOverAt;
        string name = $"lost-writes-{shard}-{DateTimeOffset.FromUnixTimeMilliseconds(core.Clock.NowMs).UtcDateTime.ToString("yyyyMMdd'T'HHmmssfff'Z'", CultureInfo.InvariantCulture)}.aof";
        string path = Path.Combine(core.Settings.DirectoryPath, name);
        string lost = string.Create(CultureInfo.InvariantCulture, $"{who} Of the {to - from} bytes that it has executed behind the offset {from}, which that one lacks,");
        try
        {
            using var file = new Target(files, path);
            var copy = new DataCommands(file.Write, terms.TakenOverIn);
            bool isKept = host.ReadStream(from, to, piece =>
            {
                cancellation.ThrowIfCancellationRequested();
                copy.Add(piece);
            });
            if (!isKept)
            {
                Note(null, $"{lost} nothing can be kept: the backlog does not reach back so far (repl-backlog-size).");
                return;
            }

            if (copy.Count == 0) return; // messages and PING
            file.Commit();
            Note(path, string.Create(CultureInfo.InvariantCulture, $"{lost} the file '{name}' has the commands on data: {copy.Count}."));
        }
        catch (Exception failure) when (failure is FileFailure or InvalidDataException)
        {
            Note(null, $"{lost} nothing is kept: {failure.Message}");
        }
        catch (OperationCanceledException)
        {
            Interlocked.CompareExchange(ref _formerShard, shard, null);
            throw;
        }
    }

    private void Note(string? file, string text)
    {
        _last = new Loss(file, text, core.Clock.SteadyMs);
        core.Log.Warning(LogEvents.ClusterLostWrites, text);
    }

    private sealed record Loss(string? File, string Text, long SinceMs);

    // Made with the first bytes; a file that was not committed is removed.
    private sealed class Target(IFiles files, string path) : IDisposable
    {
        private readonly byte[] _buffer = new byte[BufferBytes];
        private IOpenFile? _file;
        private int _buffered;
        private long _written;
        private bool _isCommitted;

        internal void Write(ReadOnlySpan<byte> bytes)
        {
            while (!bytes.IsEmpty)
            {
                int length = Math.Min(bytes.Length, _buffer.Length - _buffered);
                bytes[..length].CopyTo(_buffer.AsSpan(_buffered));
                _buffered += length;
                bytes = bytes[length..];
                if (_buffered == _buffer.Length) Flush();
            }
        }

        internal void Commit()
        {
            Flush();
            _file!.SyncData();
            files.SyncFolder(Path.GetDirectoryName(path)!);
            _isCommitted = true;
        }

        public void Dispose()
        {
            if (_file is null) return;
            _file.Dispose();
            if (!_isCommitted) files.Delete(path);
        }

        private void Flush()
        {
            _file ??= files.Create(path);
            _file.Write(_written, _buffer.AsSpan(0, _buffered));
            _written += _buffered;
            _buffered = 0;
        }
    }
}
