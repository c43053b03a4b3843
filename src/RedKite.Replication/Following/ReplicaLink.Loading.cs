using System.Text;
using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Protocol;
using RedKite.Server.Config;
using RedKite.Server.Durability;
using RedKite.Server.Logging;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Following;

/// <summary>
/// A full synchronization, loaded as repl-diskless-load says: from a file, which costs the disk but no data and no memory if the link breaks; or while it arrives, in place
/// of the old data, or beside it.
/// </summary>
internal sealed partial class ReplicaLink
{
    // What is received is written in larger pieces than it comes in.
    private const int FileBufferBytes = 256 * 1024;
    private const int ScriptPollMs = 20;

    private void Synchronize(PrimaryConnection connection, in SyncAnswer answer)
    {
        _core.Log.Notice(LogEvents.SyncBegun, $"Full resync from master: {answer.Id ?? "an unknown history"}:{answer.Offset}");
        var receiver = new SyncReceiver(connection);
        _receiving = receiver;
        _state = ReplicaLinkState.Sync;
        try
        {
            receiver.Begin();
            switch (_core.Settings.ReplicaLoad)
            {
                case ReplicaLoad.InPlace:
                case ReplicaLoad.IfEmpty when IsEmpty:
                    LoadInPlace(receiver, answer);
                    break;
                case ReplicaLoad.Beside:
                    LoadBeside(receiver, answer);
                    break;
                default:
                    LoadFromFile(receiver, answer);
                    break;
            }
        }
        catch
        {
            if (!_stop.IsCancellationRequested) Counts.NoteFailedSync();
            throw;
        }
        finally
        {
            _receiving = null;
            _isLoading = _loadsArriving = false;
        }

        _core.Log.Notice(LogEvents.LinkConnected, "MASTER <-> REPLICA sync: Finished with success");
    }

    private bool IsEmpty
    {
        get
        {
            foreach (Database database in _core.Keyspace.Databases)
            {
                if (database.Count > 0) return false;
            }

            return true;
        }
    }

    private void LoadFromFile(SyncReceiver receiver, in SyncAnswer answer)
    {
        IFiles files = _services.Data.Files;
        string path = Path.Combine(_core.Settings.DirectoryPath, $"temp-sync-{Environment.ProcessId}-{_services.Port()}.rdb");
        try
        {
            using IOpenFile file = files.Create(path);
            ReceiveInto(file, receiver);
            Load(file, answer, emptiesAfterFailure: false);
        }
        finally
        {
            files.Delete(path);
        }
    }

    private static void ReceiveInto(IOpenFile file, SyncReceiver receiver)
    {
        byte[] buffer = GC.AllocateUninitializedArray<byte>(FileBufferBytes);
        int buffered = 0;
        long written = 0;
        receiver.HandTo(bytes =>
        {
            while (!bytes.IsEmpty)
            {
                int length = Math.Min(bytes.Length, buffer.Length - buffered);
                bytes[..length].CopyTo(buffer.AsSpan(buffered));
                buffered += length;
                bytes = bytes[length..];
                if (buffered == buffer.Length) Flush();
            }
        });
        while (receiver.ReceiveSome())
        {
        }

        Flush();

        void Flush()
        {
            if (buffered > 0) file.Write(written, buffer.AsSpan(0, buffered));
            written += buffered;
            buffered = 0;
        }
    }

    private void LoadInPlace(SyncReceiver receiver, in SyncAnswer answer)
    {
        using ArrivingFile file = Arriving(receiver);
        Load(file, answer, emptiesAfterFailure: true);
    }

    private ArrivingFile Arriving(SyncReceiver receiver)
    {
        _loadsArriving = true;
        var file = new ArrivingFile("the primary's data", receiver.ReceiveSome) { KnownLength = receiver.TotalBytes };
        receiver.HandTo(file.Add);
        return file;
    }

    private void Load(IOpenFile file, in SyncAnswer answer, bool emptiesAfterFailure)
    {
        _core.Log.Notice(LogEvents.SyncBegun, "MASTER <-> REPLICA sync: Loading DB in memory");
        _isLoading = true;
        _history.BeginLoad(); // the data is none of any history until it is whole
        _core.Attention.Set(ServerAttention.Loading, on: true);
        try
        {
            _services.WaitForLoops(_stop.Token);
            _services.Replicas.CloseAll();
            RdbReplication? position = _services.Data.LoadReceived(file, RemoveAll, record => Execute(record.LoadRequest(replaces: true)), emptiesAfterFailure, _stop.Token);
            _history.EndLoad();
            NoteLoaded(answer, position);
        }
        catch (Exception failure) when (failure is IOException or OperationCanceledException)
        {
            if (failure is FileFailure) throw new IOException($"the data could not be loaded: {failure.Message}", failure);
            throw;
        }
        finally
        {
            // What a stopped or failed load from a file has left is not the primary's data: the next synchronization replaces it.
            _core.Attention.Set(ServerAttention.Loading, on: false);
            _connection?.NoteAlive();
        }
    }

    // While the data is the same history's, clients go on reading it.
    private void LoadBeside(SyncReceiver receiver, SyncAnswer answer)
    {
        bool isSameHistory = _history.IsKnown && answer.Id == _core.Replication.Id;
        ServerAttention loading = isSameHistory ? ServerAttention.LoadingBeside : ServerAttention.Loading;
        _core.Log.Notice(LogEvents.SyncBegun, "MASTER <-> REPLICA sync: Loading DB in memory, beside the old data");
        _isLoading = true;
        Database[] shadow = _core.Keyspace.NewShadow();
        _core.Attention.Set(loading, on: true);
        try
        {
            using ArrivingFile file = Arriving(receiver);
            _services.Data.LoadBeside(file, shadow, (keyless, position) => Exchange(shadow, keyless, answer, position), _stop.Token);
        }
        catch (FileFailure failure)
        {
            throw new IOException($"the data could not be loaded: {failure.Message}", failure);
        }
        finally
        {
            using (_core.Keyspace.LockAll()) // what has arrived, if it was not all
            {
                foreach (Database database in shadow) database.Discard();
            }

            _core.Attention.Set(loading, on: false);
            _connection?.NoteAlive();
        }
    }

    private void Exchange(Database[] shadow, List<KeylessRecord> keyless, in SyncAnswer answer, RdbReplication? position)
    {
        // A flush would wait for the gate, and what is no key would be the primary's meanwhile, beside the old data.
        while (_core.WriteGate.Waits)
        {
            _stop.Token.ThrowIfCancellationRequested();
            _core.WriteGate.WaitToRetry();
        }

        // What is no key first: if the primary's cannot be loaded, the old records come back, and the data stays. So for some microseconds the new ones see the old data.
        List<KeylessRecord> old = OldRecords();
        if (_core.Keyless.Replace(keyless, Execute) is { } error)
        {
            _core.Keyless.Replace(old, Execute);
            throw new IOException(error);
        }

        _core.Log.Notice(LogEvents.SyncBegun, "MASTER <-> REPLICA sync: Swapping active DB with loaded DB");
        _services.Replicas.CloseAll();
        _core.Keyspace.ReplaceAtFlush(shadow);
        try
        {
            lock (_core.Replication.Applying)
            {
                Execute(FlushAll);
                NoteLoaded(answer, position);
            }
        }
        finally
        {
            _core.Keyspace.ReplaceAtFlush(null);
        }
    }

    private List<KeylessRecord> OldRecords()
    {
        var hold = new ScriptMutexHold(_core.Keyspace.Scripts);
        while (!hold.Begin(System.Diagnostics.Stopwatch.GetTimestamp()))
        {
            _stop.Token.ThrowIfCancellationRequested();
            _stop.Token.WaitHandle.WaitOne(ScriptPollMs);
        }

        try
        {
            return _core.Keyless.Records;
        }
        finally
        {
            hold.End();
        }
    }

    private void NoteLoaded(in SyncAnswer answer, RdbReplication? position)
    {
        if (answer.Id is { } id) _core.Replication.AdoptHistory(id);
        else _core.Replication.ChangeId();
        _services.Replicas.Stream.Reset(Math.Max(0, answer.Offset));
        _history.NoteLoaded(position?.Database ?? 0, hasHistory: answer.Id is not null); // a primary selects a database first, but one that is a replica itself does not
        _core.LocalExpiries.Clear();
        Counts.NoteFull();
    }

    // Clients that watch keys or track them notice.
    private void RemoveAll()
    {
        _history.NoteRemoved();
        Execute(FlushAll);
        _core.Keyless.Clear(Execute);
    }

    private static byte[][] FlushAll => ["FLUSHALL"u8.ToArray(), "ASYNC"u8.ToArray()];

    private string? Execute(byte[][] request)
    {
        long errors = _caller.Reply.Errors;
        byte[] text = RequestText.Of(request);
        int executed = 0;
        while ((executed += _caller.Run(_caller.Session, text.AsSpan(executed), ReplyBytesMax, out _)) < text.Length)
        {
            if (_caller.HasEnded) throw new IOException("the link was closed");
            _core.WriteGate.WaitToRetry(); // the log is behind, or a snapshot writes what this would change
            _caller.Session.IsPaused = false;
        }

        string? error = _caller.Reply.Errors == errors ? null : Encoding.UTF8.GetString(_caller.Reply.Tail).TrimEnd();
        _caller.Reply.Clear();
        return error;
    }
}
