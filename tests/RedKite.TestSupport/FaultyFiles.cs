using RedKite.Persistence.Files;

namespace RedKite.TestSupport;

/// <summary>A call that is about to happen, for the plan of a test.</summary>
/// <param name="Number">Counts all calls from 1.</param>
/// <param name="Operation">As in <see cref="FileFailure.Operation"/>.</param>
/// <param name="Path">The path.</param>
/// <param name="Bytes">The number of bytes that a write or read has.</param>
internal readonly record struct FileCall(int Number, string Operation, string Path, int Bytes);

/// <summary>What happens to a call instead of succeeding.</summary>
/// <param name="Error">The error that it returns.</param>
/// <param name="WrittenBytes">How many bytes of a write happen nevertheless.</param>
internal sealed record FileFault(int Error, int WrittenBytes = 0)
{
    internal const int InputOutput = 5;   // EIO
    internal const int NoSpace = 28;      // ENOSPC
    internal const int ReadOnly = 30;     // EROFS
    internal const int Denied = 13;       // EACCES
}

/// <summary>How much of what was not synced a power loss leaves behind.</summary>
internal enum PowerLoss
{
    /// <summary>Nothing: unsynced writes are dropped, names without a sync of their folder undone.</summary>
    DropsAll,

    /// <summary>All of it.</summary>
    KeepsAll,

    /// <summary>Each unsynced write is kept, dropped or torn by itself; changes of names are kept up to some point.</summary>
    Random,
}

/// <summary>
/// A disk in memory for tests. It fails, tears or stalls calls as a plan says, fills at a capacity, counts all calls, and knows what a
/// power loss would leave of it. A failed sync loses what it should have synced, as on Linux.
/// </summary>
internal sealed class FaultyFiles : IFiles
{
    private const int SectorBytes = 512;

    private readonly Lock _lock = new();
    private readonly Dictionary<string, Node> _names = [];
    private readonly Dictionary<string, Node> _durableNames = [];
    private readonly List<(string Folder, string Name, Node? Node)> _pendingNames = [];
    private readonly HashSet<string> _folders = [""];
    private readonly HashSet<string> _held = [];

    /// <summary>Decides about each call; null: it succeeds. It may block, which stalls the call.</summary>
    internal Func<FileCall, FileFault?>? Plan { get; set; }

    /// <summary>The number of bytes that fit.</summary>
    internal long CapacityBytes { get; set; } = long.MaxValue;

    /// <summary>The number of calls so far.</summary>
    internal int Calls { get; private set; }

    /// <summary>All calls so far.</summary>
    internal List<FileCall> History { get; } = [];

    public IOpenFile OpenRead(string path)
    {
        Call("open", path);
        lock (_lock) return new FaultyFile(this, path, Existing("open", path));
    }

    public IOpenFile Create(string path)
    {
        Call("create", path);
        lock (_lock)
        {
            CheckFolder("create", path);
            if (_names.TryGetValue(path, out Node? existing)) existing.SetLength(0);
            else Name(path, existing = new Node());
            return new FaultyFile(this, path, existing);
        }
    }

    public IOpenFile OpenWrite(string path)
    {
        Call("open", path);
        lock (_lock)
        {
            CheckFolder("open", path);
            if (!_names.TryGetValue(path, out Node? node)) Name(path, node = new Node());
            return new FaultyFile(this, path, node);
        }
    }

    public IDisposable? TryHold(string path)
    {
        Call("lock", path);
        lock (_lock) return _held.Add(path) ? new Held(this, path) : null;
    }

    private sealed class Held(FaultyFiles files, string path) : IDisposable
    {
        public void Dispose()
        {
            lock (files._lock) files._held.Remove(path);
        }
    }

    public bool FileExists(string path)
    {
        lock (_lock) return _names.ContainsKey(path);
    }

    public bool FolderExists(string path)
    {
        lock (_lock) return _folders.Contains(path);
    }

    public IReadOnlyList<string> List(string folder)
    {
        Call("list", folder);
        lock (_lock) return [.. _names.Keys.Where(path => FolderOf(path) == folder).Select(path => Path.GetFileName(path)).Order(StringComparer.Ordinal)];
    }

    public void CreateFolder(string path)
    {
        Call("make folder", path);
        lock (_lock)
        {
            for (string? folder = path; !string.IsNullOrEmpty(folder); folder = Path.GetDirectoryName(folder)) _folders.Add(folder);
        }
    }

    public void Rename(string from, string to)
    {
        Call("rename", from);
        lock (_lock)
        {
            Node node = Existing("rename", from);
            CheckFolder("rename", to);

            // Never neither: what is torn has both names.
            Name(to, node);
            Name(from, null);
        }
    }

    public void Delete(string path)
    {
        Call("delete", path);
        lock (_lock)
        {
            if (_names.ContainsKey(path)) Name(path, null);
        }
    }

    public void SyncFolder(string folder)
    {
        Call("sync folder", folder);
        lock (_lock)
        {
            if (!_folders.Contains(folder)) throw new FileFailure("sync folder", folder, 2);
            foreach ((string _, string name, Node? node) in _pendingNames.Where(change => change.Folder == folder)) Set(_durableNames, name, node);
            _pendingNames.RemoveAll(change => change.Folder == folder);
        }
    }

    /// <summary>The disk after a power loss now and a new start.</summary>
    internal FaultyFiles After(PowerLoss loss, Random random)
    {
        lock (_lock)
        {
            var image = new FaultyFiles();
            image._folders.UnionWith(_folders);
            var names = new Dictionary<string, Node>(_durableNames);
            int kept = loss switch { PowerLoss.DropsAll => 0, PowerLoss.KeepsAll => _pendingNames.Count, _ => random.Next(_pendingNames.Count + 1) };
            foreach ((string _, string name, Node? node) in _pendingNames.Take(kept)) Set(names, name, node);
            var copies = new Dictionary<Node, Node>();
            foreach ((string name, Node node) in names.OrderBy(pair => pair.Key, StringComparer.Ordinal))
            {
                if (!copies.TryGetValue(node, out Node? copy)) copies[node] = copy = node.After(loss, random);
                image._names[name] = copy;
                image._durableNames[name] = copy;
            }

            return image;
        }
    }

    /// <summary>The content of a file as running programs see it.</summary>
    internal byte[] Content(string path)
    {
        lock (_lock) return Existing("read", path).Content();
    }

    /// <summary>Copies all files of a folder to a real one.</summary>
    internal void CopyTo(string folder, string target)
    {
        lock (_lock)
        {
            foreach ((string path, Node node) in _names)
            {
                if (FolderOf(path) == folder) File.WriteAllBytes(Path.Combine(target, Path.GetFileName(path)), node.Content());
            }
        }
    }

    private long UsedBytes => _names.Values.Distinct().Sum(node => node.Length);

    private static string FolderOf(string path) => Path.GetDirectoryName(path) ?? "";

    private static void Set(Dictionary<string, Node> names, string name, Node? node)
    {
        if (node is null) names.Remove(name);
        else names[name] = node;
    }

    private void Name(string path, Node? node)
    {
        Set(_names, path, node);
        _pendingNames.Add((FolderOf(path), path, node));
    }

    private Node Existing(string operation, string path) => _names.TryGetValue(path, out Node? node) ? node : throw new FileFailure(operation, path, 2);

    private void CheckFolder(string operation, string path)
    {
        if (!_folders.Contains(FolderOf(path))) throw new FileFailure(operation, path, 2);
    }

    // The plan runs without the lock, so that a stalled call stalls no other.
    private FileFault? Ask(string operation, string path, int bytes)
    {
        FileCall call;
        lock (_lock)
        {
            call = new FileCall(++Calls, operation, path, bytes);
            History.Add(call);
        }

        return Plan?.Invoke(call);
    }

    private void Call(string operation, string path, int bytes = 0)
    {
        if (Ask(operation, path, bytes) is { } fault) throw new FileFailure(operation, path, fault.Error);
    }

    private sealed class FaultyFile(FaultyFiles disk, string path, Node node) : IOpenFile
    {
        public string Path => path;

        public long Length
        {
            get
            {
                lock (disk._lock) return node.Length;
            }
        }

        public int Read(long position, Span<byte> target)
        {
            disk.Call("read", path, target.Length);
            lock (disk._lock) return node.Read(position, target);
        }

        public void Write(long position, ReadOnlySpan<byte> bytes)
        {
            FileFault? fault = disk.Ask("write", path, bytes.Length);
            lock (disk._lock)
            {
                if (fault is null)
                {
                    long grows = Math.Max(0, position + bytes.Length - node.Length);
                    long fits = disk.CapacityBytes - disk.UsedBytes;
                    if (grows > fits) fault = new FileFault(FileFault.NoSpace, (int)Math.Max(0, bytes.Length - (grows - Math.Max(0, fits))));
                }

                node.Write(position, fault is null ? bytes : bytes[..Math.Min(fault.WrittenBytes, bytes.Length)]);
                if (fault is not null) throw new FileFailure("write", path, fault.Error);
            }
        }

        public void SetLength(long bytes)
        {
            disk.Call("truncate", path);
            lock (disk._lock) node.SetLength(bytes);
        }

        public void SyncData()
        {
            FileFault? fault = disk.Ask("sync", path, 0);
            lock (disk._lock)
            {
                node.Sync(succeeds: fault is null);
                if (fault is not null) throw new FileFailure("sync", path, fault.Error);
            }
        }

        public void Dispose()
        {
        }
    }

    // A file's bytes as programs see them, those that are on the disk, and the writes that are not there yet.
    private sealed class Node
    {
        private readonly List<(long Position, byte[]? Bytes)> _pending = []; // null: the length changes to the position
        private byte[] _bytes = [];
        private byte[] _durable = [];

        internal long Length { get; private set; }

        internal byte[] Content() => _bytes[..(int)Length];

        internal int Read(long position, Span<byte> target)
        {
            int count = (int)Math.Clamp(Length - position, 0, target.Length);
            if (count > 0) _bytes.AsSpan((int)position, count).CopyTo(target);
            return count;
        }

        internal void Write(long position, ReadOnlySpan<byte> bytes)
        {
            if (bytes.IsEmpty) return;
            _pending.Add((position, bytes.ToArray()));
            Apply(position, bytes);
        }

        internal void SetLength(long bytes)
        {
            _pending.Add((bytes, null));
            Resize(bytes);
        }

        internal void Sync(bool succeeds)
        {
            if (succeeds) _durable = Replay(_pending);
            _pending.Clear();
        }

        internal Node After(PowerLoss loss, Random random)
        {
            List<(long, byte[]?)> kept = [];
            foreach ((long position, byte[]? bytes) in _pending)
            {
                int fate = loss switch { PowerLoss.DropsAll => 0, PowerLoss.KeepsAll => 1, _ => random.Next(3) };
                if (fate == 1) kept.Add((position, bytes));
                if (fate == 2 && bytes is not null) Tear(kept, position, bytes, random);
            }

            var node = new Node { _durable = Replay(kept) };
            node._bytes = [.. node._durable];
            node.Length = node._durable.Length;
            return node;
        }

        // Each sector of the disk is written whole or not at all.
        private static void Tear(List<(long Position, byte[]? Bytes)> kept, long position, byte[] bytes, Random random)
        {
            for (int start = 0; start < bytes.Length;)
            {
                int end = (int)Math.Min(bytes.Length, start + SectorBytes - ((position + start) % SectorBytes));
                if (random.Next(2) == 0) kept.Add((position + start, bytes[start..end]));
                start = end;
            }
        }

        private byte[] Replay(List<(long Position, byte[]? Bytes)> writes)
        {
            var replayed = new Node { _bytes = [.. _durable], Length = _durable.Length };
            foreach ((long position, byte[]? bytes) in writes)
            {
                if (bytes is null) replayed.Resize(position);
                else replayed.Apply(position, bytes);
            }

            return replayed.Content();
        }

        private void Apply(long position, ReadOnlySpan<byte> bytes)
        {
            if (position + bytes.Length > Length) Resize(position + bytes.Length);
            bytes.CopyTo(_bytes.AsSpan((int)position));
        }

        private void Resize(long length)
        {
            if (length > _bytes.Length) Array.Resize(ref _bytes, (int)Math.Max(length, _bytes.Length * 2L));
            if (length < Length) _bytes.AsSpan((int)length, (int)(Length - length)).Clear();
            Length = length;
        }
    }
}
