using RedKite.Net;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Model;

/// <summary>A key that a client is blocked on, and the client's place in the key's queue.</summary>
internal sealed class AwaitedKey(BlockedClient client, KeyIdentity identity, int stripe, int argument)
{
    internal BlockedClient Client => client;

    internal KeyIdentity Identity => identity;

    internal int Stripe => stripe;

    /// <summary>The key's argument in the request.</summary>
    internal int Argument => argument;

    /// <summary>The neighbours in the key's queue. With the key's stripe locked.</summary>
    internal AwaitedKey? Previous { get; set; }

    internal AwaitedKey? Next { get; set; }
}

/// <summary>
/// A client whose command blocks, with the request, which is executed again when one of its keys may serve it.
/// </summary>
/// <remarks>
/// How it ends is decided by one atomic word, not by the stripes of its keys: waiting, being served, ended. Changing it
/// from waiting to ended (a deadline, CLIENT UNBLOCK, CLIENT KILL, a closed connection) needs no key's lock, however many keys
/// there are; the client's own thread cleans up the queues afterwards, and serving threads skip clients that have ended. A
/// thread that finds the client being served waits until that ends: the serving thread waits for nothing meanwhile.
/// </remarks>
internal sealed class BlockedClient : IDisposable
{
    private const int Overhead = 160; // this object and its block request
    private const int KeyBytes = 136; // an awaited key, its place in the array, and its queue
    private const int Waiting = 0;
    private const int Serving = 1;
    private const int Ended = 2;

    private readonly SemaphoreSlim? _ended; // a caller in the process sleeps on it
    private AwaitedKey[] _keys = []; // ordered by stripe
    private int _state;
    private Func<bool>? _mayBeLost;
    private OutputDeadline? _deadlineOfServing;

    internal BlockedClient(Session session, SavedRequest request, BlockRequest block, StripeSet stripes)
    {
        Session = session;
        Request = request;
        Block = block;
        Stripes = stripes;
        Work = block.Work;
        if (session.Connection is null) _ended = new SemaphoreSlim(0);
    }

    internal Session Session { get; }

    internal SavedRequest Request { get; }

    /// <summary>Memory of the request and of the places in its keys' queues.</summary>
    internal long KeptBytes => Request.KeptBytes + ((long)_keys.Length * KeyBytes) + Overhead;

    internal BlockRequest Block { get; }

    /// <summary>When the request arrived: its place in the keys' queues.</summary>
    internal required Arrival Arrival { get; init; }

    /// <summary>When it was served: its next request arrives then. Null: it was not.</summary>
    internal Arrival? ServedAt { get; private set; }

    internal long DeadlineMs => Block.DeadlineMs;

    internal bool HasDeadline => Block.DeadlineMs != BlockRequest.NoDeadline;

    /// <summary>The keys of a stripe that the client is blocked on, each once. They do not change once the client is queued.</summary>
    internal ReadOnlySpan<AwaitedKey> KeysIn(int stripe)
    {
        int first = IndexOf(stripe);
        return _keys.AsSpan(first, IndexOf(stripe + 1) - first);
    }

    /// <summary>One of the keys, for whatever concerns the request as a whole; null: there is none.</summary>
    internal AwaitedKey? AnyKey => _keys.Length > 0 ? _keys[0] : null;

    /// <summary>The stripes of all keys of the request.</summary>
    internal StripeSet Stripes { get; }

    /// <summary>The stripes in whose queues the client is. Changed by the thread that ends or serves it.</summary>
    internal StripeSet QueuedIn { get; set; }

    /// <summary>Whether it counts as blocked.</summary>
    internal bool IsCounted { get; set; }

    internal bool HasEnded => Volatile.Read(ref _state) == Ended;

    /// <summary>The work that it waits for; null: none. Used on the client's thread, with the request's stripes locked.</summary>
    internal SlicedWork? Work { get; set; }

    /// <summary>Until when the replies may leave to what began with the command.</summary>
    internal OutputDeadline? DeadlineOfBegin { get; init; }

    /// <summary>
    /// Until when the reply may leave: for work the deadline of its begin, for a client that another command serves that of the moment at which it is served; null: without end, as that a wait has ended
    /// without a result is executed by nothing. The session's own is of the input that its thread has read last.
    /// </summary>
    internal OutputDeadline? ReplyDeadline => ServedAt is null ? null : Work is not null ? DeadlineOfBegin : _deadlineOfServing;

    /// <summary>Notes that its command was executed, and the deadline of that if another command has served it.</summary>
    internal void NoteServed(OutputDeadline? deadline) => (ServedAt, _deadlineOfServing) = (Arrival.Now(), deadline);

    /// <summary>Whether the client has sent ASKING before the command, which it keeps while it works in slices.</summary>
    internal bool Asks { get; init; }

    /// <summary>How often the work had to begin again because the data had changed.</summary>
    internal int Restarts { get; set; }

    /// <summary>Whether its command is counted, or was refused at the end of the wait.</summary>
    internal bool IsCallCounted { get; set; }

    /// <summary>How long its command has executed so far, in <see cref="System.Diagnostics.Stopwatch"/> ticks.</summary>
    internal long ExecutedTicks { get; private set; }

    /// <summary>The longest that it has executed in one piece: other clients of the loop have waited for no more.</summary>
    internal long LongestTicks { get; private set; }

    /// <summary>How long the first execution of its command took: counted with the call, not if the command is refused at the end of the wait.</summary>
    internal long UncountedNs { get; set; }

    /// <summary>Counts the first execution of its command, or a slice of its work.</summary>
    internal void NoteExecuted(long ticks)
    {
        ExecutedTicks += ticks;
        LongestTicks = Math.Max(LongestTicks, ticks);
    }

    /// <summary>The reply; null: the reply at the deadline.</summary>
    internal Payload[]? Reply { get; set; }

    /// <summary>Whether the reply grew larger than a client may have; its connection ends.</summary>
    internal bool Overflowed { get; set; }

    /// <summary>The client wants no reply to this command.</summary>
    internal bool DropsReply { get; set; }

    /// <summary>The class of the error by which the server ended the wait, to be counted with the call; null: none, or it is counted already.</summary>
    internal string? EndedByError { get; private set; }

    /// <summary>Sets the keys, which are in the order of the arguments.</summary>
    internal void SetKeys(ReadOnlySpan<AwaitedKey> keys)
    {
        _keys = new AwaitedKey[keys.Length];
        Span<int> ends = stackalloc int[StripeSet.StripesMax + 1];
        ends.Clear();
        foreach (AwaitedKey key in keys) ends[key.Stripe + 1]++;
        for (int stripe = 1; stripe < ends.Length; stripe++) ends[stripe] += ends[stripe - 1];
        foreach (AwaitedKey key in keys) _keys[ends[key.Stripe]++] = key;
    }

    /// <summary>Ends the wait. From any thread; no lock is needed.</summary>
    /// <returns>False if it had ended before. If true, the caller is responsible for the reply.</returns>
    internal bool TryEnd()
    {
        var spinner = default(SpinWait);
        while (true)
        {
            int state = Interlocked.CompareExchange(ref _state, Ended, Waiting);
            if (state == Waiting)
            {
                (Work as PendingWork)?.Abandon();
                return true;
            }

            if (state == Ended) return false;
            spinner.SpinOnce();
        }
    }

    /// <summary>Whether a deadline or CLIENT UNBLOCK may end the wait: work that is being done ends it by itself.</summary>
    internal bool MayBeUnblocked => Block is { Work: null, IsCertain: false };

    /// <summary>Begins to execute the request again, with all of its stripes locked; false if the wait has ended.</summary>
    internal bool TryBeginServing() => Interlocked.CompareExchange(ref _state, Serving, Waiting) == Waiting;

    /// <summary>Ends the execution: the client is served, or continues to wait.</summary>
    internal void EndServing(bool served) => Volatile.Write(ref _state, served ? Ended : Waiting);

    /// <summary>Sleeps until the wait has ended, at most for a time. For a caller in the process.</summary>
    internal bool Sleep(int milliseconds) => _ended!.Wait(milliseconds);

    /// <summary>Wakes the caller in the process, or continues what waits without a thread.</summary>
    internal void Wake()
    {
        if (Session.Woken is { } woken) woken();
        else _ended!.Release();
    }

    /// <summary>Gives it the reply by which the server ends its wait.</summary>
    internal void EndWith(Payload reply)
    {
        Reply = [reply];
        if (reply.Bytes is [(byte)'-', .. var text]) EndedByError = System.Text.Encoding.ASCII.GetString(text[..Math.Max(0, text.IndexOf((byte)' '))]);
    }

    /// <summary>
    /// Notes how to see, when it replies, whether the log has failed since the command began that serves it, one of the host's: that thread may hand the client over
    /// when the loops know of the failure already.
    /// </summary>
    internal void NoteLog(Func<bool> mayBeLost) => _mayBeLost = mayBeLost;

    /// <summary>Whether the log may not have what the reply says.</summary>
    internal bool MayBeLost => _mayBeLost?.Invoke() == true;

    /// <summary>Releases the reply, which was sent or is no longer needed.</summary>
    internal void ReleaseReply()
    {
        foreach (Payload part in Reply ?? []) part.Buffer.Release();
        Reply = null;
    }

    public void Dispose() => _ended?.Dispose();

    // The index of the first key of this stripe or a later one.
    private int IndexOf(int stripe)
    {
        int low = 0;
        int high = _keys.Length;
        while (low < high)
        {
            int middle = (low + high) / 2;
            if (_keys[middle].Stripe < stripe) low = middle + 1;
            else high = middle;
        }

        return low;
    }
}
