using System.Diagnostics.CodeAnalysis;
using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.TimeSeries.Ranges;
using RedKite.TimeSeries.Store;

namespace RedKite.TimeSeries.Labels;

/// <summary>What a query by labels asks of all series, and of whom.</summary>
/// <param name="Keyspace">The keys.</param>
/// <param name="Database">The database.</param>
/// <param name="Expiry">What has expired is passed over.</param>
/// <param name="Index">The index of labels.</param>
/// <param name="Filters">Which series.</param>
/// <param name="Command">The command, for the permissions.</param>
/// <param name="Permissions">Those of the user, who must be allowed to read every series; null: none is checked.</param>
internal sealed record SeriesQuery(Keyspace Keyspace, Database Database, ExpiryClock Expiry, LabelIndex Index, LabelFilter[] Filters, Command Command, Permissions? Permissions);

/// <summary>
/// A query of all series with some labels, in slices: keys are found in the index or by a walk over all keys, sorted, and looked at one after the other, each with
/// its stripe locked. So series may change meanwhile, but for a transaction or script, in which all stripes are locked. If the database is flushed or gets other
/// keys, the query begins again, at most twice.
/// </summary>
internal abstract class SeriesWork(SeriesQuery query, long replyStart) : SlicedWork
{
    private const int BucketsPerLock = 256;
    private const int BucketSteps = 512;
    private const int KeySteps = 1024;
    private const int FoundSteps = 16;

    private const int RestartsMax = 2;
    private const string ReplacedMeanwhile = "ERR TSDB: the database got other keys while its series were read";
    private const string KeysTooLarge = "ERR TSDB: the keys of the series take too much memory";

    private readonly int _runKeys = 4096 / query.Keyspace.BoundsDivisor; // keys that are sorted at once
    private readonly EntryList _entries = new();
    private readonly List<ArraySegment<LabelledKey>> _found = [];
    private List<byte[]> _keys = [];
    private long _longBytes; // of the long ones among them
    private PriorityQueue<int, byte[]>? _order; // of each sorted run, the position of the next key
    private KeptPlace _kept = new(query.Keyspace.KeptQueries);
    private ReplyWriter? _own;
    private long _start = replyStart;
    private Stage _stage;
    private int _next;
    private LabelledSeries? _part;
    private bool _hasAsked;
    private int _restarts;
    private int _list;
    private int _stripe;
    private TableCursor _cursor;
    private byte[]? _key;
    private bool _isRead;
    private byte[]? _last;
    private long _accessLeft = AccessPattern.RequestStepsMax;
    private int _locked = -1;

    private enum Stage
    {
        Begin,
        Walk,
        Find,
        Check,
        Sort,
        Read,
        Write,
        End,
    }

    /// <summary>Whether a busy script holds a stripe: the handler ends at once.</summary>
    internal bool IsRefused { get; private set; }

    /// <summary>The error that ends the query; null: there is none.</summary>
    internal string? Error { get; private protected set; }

    /// <summary>Where the reply is written: that of the command, and a writer of its own while the client waits.</summary>
    private protected ReplyWriter Reply { get; private set; } = null!;

    /// <summary>How much of the reply is written.</summary>
    private protected long Written => Reply.Length - _start;

    /// <summary>The series or groups that were replied.</summary>
    private protected int Count { get; set; }

    /// <summary>Goes on until no steps are left.</summary>
    /// <param name="environment">That of the command that executes; null: it is a slice.</param>
    /// <param name="reply">Where the reply is written.</param>
    /// <param name="steps">The steps that may be taken; then those that are left.</param>
    /// <returns>Whether everything is done.</returns>
    internal bool Run(CommandEnvironment? environment, ReplyWriter reply, ref long steps)
    {
        Reply = reply;
        bool goesOn = true;
        while (goesOn && steps > 0 && _stage != Stage.End)
        {
            if (Error is not null || Reply.Overflowed)
            {
                _stage = Stage.End;
                break;
            }

            switch (_stage)
            {
                case Stage.Begin:
                    goesOn = TryBegin(environment);
                    break;
                case Stage.Walk:
                    goesOn = TryWalk(environment, ref steps);
                    break;
                case Stage.Find:
                    Take(ref steps);
                    break;
                case Stage.Check:
                    Check(ref steps);
                    break;
                case Stage.Sort:
                    Sort(ref steps);
                    break;
                case Stage.Read:
                    goesOn = TryRead(environment, ref steps);
                    break;
                default:
                    if (IsEndWritten(ref steps)) _stage = Stage.End;
                    break;
            }
        }

        return _stage == Stage.End;
    }

    /// <summary>The client waits: what was replied is kept in a writer of its own, or all is forgotten.</summary>
    /// <param name="reply">The command's reply, which gets nothing yet.</param>
    /// <param name="own">The writer.</param>
    internal void Stop(ReplyWriter reply, ReplyWriter own)
    {
        if (_kept.TryKeep()) own.Raw(reply.WrittenFrom(_start));
        else Restart();
        (own.Resp3, own.BytesMax) = (reply.Resp3, reply.BytesMax);
        reply.Truncate(_start);
        (Reply, _own, _start) = (own, own, 0);
    }

    internal override bool RunSlice()
    {
        if (!_kept.TryKeep()) return false;
        long steps = RangeQuery.SliceSteps / query.Keyspace.BoundsDivisor;
        try
        {
            IsComplete = Run(null, Reply, ref steps);
        }
        catch (Exception failure) when (_locked >= 0 && query.Keyspace.FailStop.Ends(failure, StripeSet.Of(_locked), query.Command.FullName))
        {
            throw;
        }

        return IsComplete;
    }

    /// <summary>Replies what was found. The work is complete.</summary>
    internal void End(ReplyWriter reply)
    {
        if (Error is not null)
        {
            if (_own is null) reply.Truncate(_start);
            reply.Error(Error);
            return;
        }

        long end = reply.Length;
        ReplyHead(reply, Count);
        if (_own is not null) reply.Take(_own);
        else reply.MoveToFront(_start, end);
    }

    /// <summary>Removes what was replied, in place of which the command has an error.</summary>
    internal void TakeBack() => Reply.Truncate(_start);

    internal override void Discard()
    {
        Restart();
        _own?.Clear();
        _kept.Release();
    }

    /// <summary>Reads a series, whose stripe is locked.</summary>
    /// <returns>Whether its stripe is needed no more.</returns>
    private protected abstract bool TryRead(byte[] key, scoped Series series, ref long steps);

    /// <summary>The series that was read in part is gone.</summary>
    private protected virtual void Drop()
    {
    }

    /// <summary>Forgets all that was read.</summary>
    private protected virtual void Forget()
    {
    }

    /// <summary>Writes what was read of the last series.</summary>
    /// <returns>Whether all is written.</returns>
    private protected virtual bool IsWritten(ref long steps) => true;

    /// <summary>Writes what follows from all series.</summary>
    /// <returns>Whether all is written.</returns>
    private protected virtual bool IsEndWritten(ref long steps) => true;

    /// <summary>Begins the whole reply.</summary>
    private protected abstract void ReplyHead(ReplyWriter reply, int count);

    /// <summary>Moves what was written behind one position of the reply to an earlier one.</summary>
    private protected void MoveToFront(long start, long end) => Reply.MoveToFront(_start + start, _start + end);

    private void Restart()
    {
        Forget();
        (_keys, _order, _key, _last, _next) = ([], null, null, null, 0);
        (_stripe, _cursor, _stage, _isRead, Count, Error) = (0, default, Stage.Begin, false, 0, null);
        (_part, _list, _longBytes) = (null, 0, 0);
        _found.Clear();
        _accessLeft = AccessPattern.RequestStepsMax;
    }

    // False: the index does not see all changes yet, and the client waits until it does.
    private bool TryBegin(CommandEnvironment? environment)
    {
        _part = query.Index.PartOf(query.Database);
        if (_part is null && environment is null)
        {
            query.Index.Apply();
            _part = query.Index.PartOf(query.Database);
        }

        if (_part is null && (environment is null || !_hasAsked))
        {
            _hasAsked = true;
            return false;
        }

        if (_part is null || !TryFind()) _stage = Stage.Walk;
        return true;
    }

    private bool TryFind()
    {
        if (!_part!.TryFind(Array.Find(query.Filters, static filter => filter.IsMatcher)!, _found)) return false;
        (_keys, _longBytes, _stage) = ([], 0, Stage.Find);
        return true;
    }

    // With a stripe locked the database keeps its keys. If they are others than when the query began, what was found is of no use.
    private bool BeginsAgain()
    {
        if (_part is null || query.Index.IsOf(query.Database, _part)) return false;
        Reply.Truncate(_start);
        Restart();
        if (++_restarts > RestartsMax) Error = ReplacedMeanwhile;
        return true;
    }

    // False: a stripe is not free.
    private bool TryWalk(CommandEnvironment? environment, ref long steps)
    {
        int stripe = _stripe;
        if (!TryEnter(environment, stripe)) return false;
        bool more = BeginsAgain() || Walk(ref steps);
        Exit(environment, stripe);
        if (more) return true;
        _cursor = default;
        if (++_stripe < query.Keyspace.Stripes.Length) return true;
        _part?.NoteWalked();
        if (_part is null || !TryFind()) _stage = Stage.Check; // otherwise with what has changed behind the walk
        return true;
    }

    // Whether the stripe, which is locked, has more.
    private bool Walk(ref long steps)
    {
        Table? table = query.Database.TableIn(_stripe);
        bool more = table is not null;
        _entries.Clear();
        for (int i = 0; more && i < BucketsPerLock; i++)
        {
            more = table!.NextBucket(ref _cursor, _entries);
            steps -= BucketSteps;
        }

        foreach (Entry entry in _entries)
        {
            if (entry.Type != SeriesType.Instance.Number) continue;
            SeriesLabels labels = Series.OfBlock(entry.Address).Labels;
            _part?.Enter(query.Keyspace.Hash(entry.Key), entry.Key, labels.Bytes);
            if (LabelFilter.Match(query.Filters, labels)) Keep(entry.Key);
            steps -= KeySteps;
        }

        return more;
    }

    private void Keep(ReadOnlySpan<byte> key)
    {
        if (key.Length > ManagedText.FreeBytes)
        {
            _longBytes += key.Length;
            if (!ManagedText.HasRoom(_longBytes, key.Length))
            {
                Error = KeysTooLarge;
                return;
            }
        }

        _keys.Add(key.ToArray());
    }

    private void Take(ref long steps)
    {
        for (; _list < _found.Count && steps > 0; (_list, _next) = (_list + 1, 0))
        {
            ArraySegment<LabelledKey> found = _found[_list];
            for (; _next < found.Count && steps > 0; steps -= FoundSteps)
            {
                LabelledKey key = found[_next++];
                if (!key.IsGone) _keys.Add(key.Key);
            }

            if (_next < found.Count) return;
        }

        if (_list < _found.Count) return;
        _found.Clear();
        (_stage, _next) = (Stage.Check, 0);
    }

    private void Check(ref long steps)
    {
        if (query.Permissions is not null)
        {
            for (; _next < _keys.Count && steps > 0; _next++)
            {
                long before = _accessLeft;
                if (!query.Permissions.AllowsKey(query.Command, _keys[_next], KeyAccess.Read, ref _accessLeft))
                {
                    Error = "NOPERM TSDB: current user doesn't have read permission to one or more keys that match the specified filter";
                    return;
                }

                steps -= before - _accessLeft + 64;
            }

            if (_next < _keys.Count) return;
        }

        (_stage, _next) = (Stage.Sort, 0);
    }

    // In the order of their bytes: runs of keys are sorted, and merged when they are read.
    private void Sort(ref long steps)
    {
        _order ??= new PriorityQueue<int, byte[]>(Comparer<byte[]>.Create(static (a, b) => a.AsSpan().SequenceCompareTo(b)));
        if (_next < _keys.Count)
        {
            int count = Math.Min(_runKeys, _keys.Count - _next);
            _keys.Sort(_next, count, _order.Comparer);
            _order.Enqueue(_next, _keys[_next]);
            _next += count;
            steps -= (long)count * (KeySteps / 2);
        }

        if (_next >= _keys.Count) _stage = Stage.Read;
    }

    private bool TryRead(CommandEnvironment? environment, ref long steps)
    {
        if (_key is null && !TryNext(out _key))
        {
            _stage = Stage.Write;
            return true;
        }

        if (!_isRead)
        {
            ulong hash = query.Keyspace.Hash(_key);
            int stripe = query.Keyspace.StripeOf(hash);
            if (!TryEnter(environment, stripe)) return false;
            if (!BeginsAgain())
            {
                _isRead = true;
                if (TryOpen(_key, hash, out Series series)) _isRead = TryRead(_key, series, ref steps);
                else Drop();
            }

            Exit(environment, stripe);
            steps -= KeySteps;
        }

        if (_isRead && IsWritten(ref steps)) (_key, _isRead) = (null, false);
        return true;
    }

    private bool TryNext([NotNullWhen(true)] out byte[]? key)
    {
        while (_order!.TryDequeue(out int at, out key))
        {
            if (++at % _runKeys != 0 && at < _keys.Count) _order.Enqueue(at, _keys[at]);
            if (_last is not null && _last.AsSpan().SequenceEqual(key)) continue; // it has several of the values
            _last = key;
            return true;
        }

        return false;
    }

    // What has expired is left to be removed by others.
    private bool TryOpen(byte[] key, ulong hash, out Series series)
    {
        series = default;
        if (query.Keyspace.Hides(key)) return false;
        Entry entry = query.Database.FindByHash(hash);
        if (!entry.Exists || entry.Type != SeriesType.Instance.Number || (entry.Expires && query.Expiry.HasPassed(entry.ExpiryMs))) return false;
        series = Series.Of(query.Database, entry);
        return LabelFilter.Match(query.Filters, series.Labels);
    }

    private bool TryEnter(CommandEnvironment? environment, int stripe)
    {
        if (environment is not null)
        {
            IsRefused = !environment.TryEnterStripe(stripe);
            return !IsRefused;
        }

        if (!query.Keyspace.Stripes[stripe].TryEnterSoon()) return false;
        _locked = stripe;
        return true;
    }

    private void Exit(CommandEnvironment? environment, int stripe)
    {
        if (environment is not null)
        {
            environment.ExitStripe(stripe);
            return;
        }

        _locked = -1;
        query.Keyspace.Stripes[stripe].Exit();
    }
}
