using RedKite.Persistence.Files;
using RedKite.Server.Config;

namespace RedKite.Server.Cluster;

/// <summary>
/// The file that keeps a node's state (`cluster-config-file`), and the lock file beside it, which one server holds from its start to its end: two in one folder would write over each other's state.
/// </summary>
/// <remarks>A state is written to a new file, synced, and renamed. Once it is renamed it may be what a start finds, although the change fails behind that.</remarks>
internal sealed class ClusterFile(Settings settings, IFiles files) : IDisposable
{
    private readonly Lock _writing = new(); // a move of slots may end behind the server
    private IDisposable? _hold;
    private bool _hasEnded;

    internal string Name => Path.Combine(settings.DirectoryPath, settings.ClusterConfigFile);

    /// <summary>Whether the file may have a state that was refused, because writing the one in force again has failed, too.</summary>
    internal bool MayHaveRefused { get; private set; }

    private string LockName => Name + ".lock";

    /// <summary>Reads the file at the start; null: there is none, and the node is new.</summary>
    /// <exception cref="TopologyException">It cannot be used, or another server uses it.</exception>
    /// <exception cref="FileFailure">It cannot be read.</exception>
    internal ClusterState? Read()
    {
        if (!files.FileExists(Name)) return null;
        Hold();
        using IOpenFile file = files.OpenRead(Name);
        if (file.Length > ClusterLimits.DocumentBytesMax) throw new TopologyException($"it has more than {ClusterLimits.DocumentBytesMax} bytes");
        byte[] bytes = new byte[file.Length];
        int read = 0;
        while (read < bytes.Length && file.Read(read, bytes.AsSpan(read)) is > 0 and int count) read += count;
        return TopologyDocument.Read(bytes);
    }

    /// <summary>Writes the file of a new node, when nothing else hinders the start. A server that is not new has read it.</summary>
    /// <inheritdoc cref="Read" path="/exception"/>
    internal void Begin(ClusterState state)
    {
        if (_hold is not null) return;
        Hold();
        if (files.FileExists(Name)) throw new TopologyException("another server has written it meanwhile"); // and has ended since
        Save(state, state);
    }

    /// <summary>Counts the attempts to write.</summary>
    internal long Attempts { get; private set; }

    /// <summary>Writes a state, unless another one was written since. With what is in force not locked, so that nothing waits for the disk.</summary>
    /// <param name="state">What is in force.</param>
    /// <param name="behind">The attempts before it was.</param>
    /// <returns>Whether it is written.</returns>
    /// <inheritdoc cref="Save" path="/exception"/>
    internal bool TrySave(ClusterState state, long behind)
    {
        lock (_writing)
        {
            if (Attempts != behind) return false;
            Save(state, state);
            return true;
        }
    }

    /// <summary>Writes a state. If that fails behind the renaming, writes the one that stays in force.</summary>
    /// <exception cref="TopologyException">It is too large, or the server has ended: the folder may be another one's.</exception>
    /// <exception cref="FileFailure">It is not in force.</exception>
    internal void Save(ClusterState next, ClusterState inForce)
    {
        byte[] bytes = TopologyDocument.Write(next);
        if (bytes.Length > ClusterLimits.DocumentBytesMax) throw new TopologyException($"the topology's document would have more than {ClusterLimits.DocumentBytesMax} bytes");
        lock (_writing)
        {
            if (_hasEnded) throw new TopologyException("the server has ended");
            Attempts++;
            try
            {
                Write(bytes);
                Sync();
                MayHaveRefused = false;
            }
            catch (FileFailure) when (MayHaveRefused)
            {
                Restore(TopologyDocument.Write(inForce));
                throw;
            }
        }
    }

    public void Dispose()
    {
        lock (_writing)
        {
            _hasEnded = true;
            _hold?.Dispose();
        }
    }

    private void Hold() => _hold ??= files.TryHold(LockName) ?? throw new TopologyException("another server uses it: each node has a folder of its own");

    private void Write(byte[] bytes)
    {
        string temporary = Name + ".tmp";
        using (IOpenFile file = files.Create(temporary))
        {
            file.Write(0, bytes);
            file.SyncData();
        }

        files.Rename(temporary, Name);
        MayHaveRefused = true;
    }

    private void Sync() => files.SyncFolder(Path.GetDirectoryName(Path.GetFullPath(Name))!);

    private void Restore(byte[] bytes)
    {
        try
        {
            Write(bytes);
            Sync();
            MayHaveRefused = false;
        }
        catch (FileFailure)
        {
            // The caller says so, and writes again before the next change.
        }
    }
}
