using System.Runtime.CompilerServices;
using System.Text;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Config;
using RedKite.Server.Metrics;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Model;

/// <summary>
/// The context of a handler: its arguments, the reply, the client's session and database. Keys that the command's row names are
/// locked. It knows nothing of sockets and locks.
/// </summary>
/// <remarks>
/// An <see cref="Entry"/> that was found stays true until the handler writes, resizes or removes another key; then it
/// is found again. Finding never moves other entries.
/// </remarks>
internal ref struct CommandContext
{
    // How often the copy of a large value starts over before it is made at once.
    private const int CopyRestartsMax = 2;

    private readonly CommandEnvironment _environment;
    private readonly Span<byte> _input;
    private ReadOnlySpan<ArgumentSlice> _arguments;
    private ulong _firstKeyHash;
    private ulong _redacted; // a bit per argument; the last one stands for all further ones

    /// <param name="environment">What the executor lends.</param>
    /// <param name="session">The client.</param>
    /// <param name="input">The bytes that the arguments are slices of.</param>
    /// <param name="reply">Where the reply goes.</param>
    /// <param name="database">The index of the selected database.</param>
    internal CommandContext(CommandEnvironment environment, Session session, Span<byte> input, ReplyWriter reply, int database)
    {
        _environment = environment;
        _input = input;
        Session = session;
        Reply = reply;
        Database = environment.Keyspace.Databases[database];
        Command = null!;
    }

    internal ReplyWriter Reply { get; }

    internal Session Session { get; }

    /// <summary>The client's selected database.</summary>
    internal Database Database { get; private set; }

    /// <summary>The row of the command, or of the subcommand, that executes.</summary>
    internal Command Command { get; private set; }

    internal readonly Keyspace Keyspace => _environment.Keyspace;

    internal readonly Settings Settings => _environment.Settings;

    /// <summary>Every command of the server.</summary>
    internal readonly CommandTable Commands => _environment.Commands;

    /// <summary>The executor's hold on the script mutex. Delegates of a row that inspect scripts before the command executes acquire it.</summary>
    internal readonly ScriptTurn ScriptTurn => _environment.ScriptTurn;

    /// <summary>The server's clock. Commands use <see cref="NowMs"/>; only commands that report the time read this.</summary>
    internal readonly ServerClock Clock => _environment.Clock;

    /// <summary>The time of this command, in Unix milliseconds. It does not change while it executes.</summary>
    internal readonly long NowMs => _environment.NowMs;

    /// <summary>The same by the steady clock: for what waits, and for the times of sessions.</summary>
    internal readonly long SteadyMs => _environment.SteadyMs;

    /// <summary>When keys and fields count as expired, and what becomes of those that the command finds.</summary>
    internal readonly ExpiryClock Expiry => _environment.Expiry;

    /// <summary>The counters that the command increments: keyspace hits and misses and the like.</summary>
    internal readonly Metrics.ExecutorMetrics Metrics => _environment.Metrics;

    /// <summary>Number of arguments, the command's name included.</summary>
    internal readonly int Count => _arguments.Length;

    /// <summary>An argument; 0 is the command's name, 1 a container's subcommand.</summary>
    internal readonly ReadOnlySpan<byte> this[int index]
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get
        {
            ArgumentSlice argument = _arguments[index];
            return _input.Slice(argument.Start, argument.Length);
        }
    }

    /// <summary>An argument of a request in the same input, before its command begins.</summary>
    internal readonly ReadOnlySpan<byte> Input(ArgumentSlice argument) => _input.Slice(argument.Start, argument.Length);

    /// <summary>The positions of the arguments in <see cref="RequestBuffer"/>.</summary>
    internal readonly ReadOnlySpan<ArgumentSlice> Arguments => _arguments;

    /// <summary>The bytes that the arguments are slices of.</summary>
    internal readonly ReadOnlySpan<byte> RequestBuffer => _input;

    /// <summary>Bytes from the first argument to the end of the last one.</summary>
    internal readonly int RequestBytes => _arguments[^1].Start + _arguments[^1].Length - _arguments[0].Start;

    /// <summary>The length of the request as a client sends it: with the numbers before the first argument and the last line's end.</summary>
    internal readonly int FramedRequestBytes => RequestBytes + "*\r\n$\r\n\r\n"u8.Length + DecimalDigits(_arguments.Length) + DecimalDigits(_arguments[0].Length);

    /// <summary>The command's first key.</summary>
    internal readonly ReadOnlySpan<byte> Key
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => this[Command.FirstKey];
    }

    /// <summary>An argument as text, one character a byte.</summary>
    internal readonly string Text(int index) => Encoding.Latin1.GetString(this[index]);

    /// <summary>An argument as Redis's messages show it: a zero byte ends it.</summary>
    internal readonly string ShownText(int index)
    {
        ReadOnlySpan<byte> argument = this[index];
        int end = argument.IndexOf((byte)0);
        return Encoding.Latin1.GetString(end < 0 ? argument : argument[..end]);
    }

    /// <summary>The command's name as clients know it, in capitals: rename-command may have changed it.</summary>
    internal readonly string ContainerText => ShownText(0).ToUpperInvariant();

    /// <summary>Whether an argument is a word, in any case.</summary>
    internal readonly bool Is(int index, ReadOnlySpan<byte> word) => AsciiText.EqualsIgnoreCase(this[index], word);

    /// <summary>Replaces the command by its subcommand, once that is found.</summary>
    internal void Resolve(Command command) => Command = command;

    internal void Begin(Command command, ReadOnlySpan<ArgumentSlice> arguments, ulong firstKeyHash)
    {
        Command = command;
        _arguments = arguments;
        _firstKeyHash = firstKeyHash;
        _redacted = 0;
    }

    /// <summary>A request inside this one: the arguments from one on, with their command.</summary>
    internal readonly CommandContext Inner(Command command, int start)
    {
        CommandContext inner = this;
        inner.Begin(command, _arguments[start..], 0);
        return inner;
    }

    /// <summary>Marks an argument as a secret, which no log shows.</summary>
    internal void Redact(int argument) => _redacted |= 1UL << Math.Min(argument, 63);

    /// <summary>Whether a log must not show the argument.</summary>
    internal readonly bool IsRedacted(int argument) => (_redacted & (1UL << Math.Min(argument, 63))) != 0;

    /// <summary>The hash of a key; in most cases it was computed before.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal readonly ulong HashOf(int argument) => argument == Command.FirstKey ? _firstKeyHash : HashOfLaterKey(argument);

    /// <summary>The stripe of a key.</summary>
    internal readonly int StripeOf(ulong hash) => Keyspace.StripeOf(hash);

    /// <summary>Looks a key up to read its value: counts a hit or miss and notes the access.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal readonly Entry Find(int argument)
    {
        Entry entry = Database.Find(this[argument], HashOf(argument), Expiry);
        if (!entry.Exists)
        {
            NoteMiss(this[argument], HashOf(argument));
            return entry;
        }

        Metrics.KeyspaceHits++;
        Touch(entry);
        return entry;
    }

    /// <summary>Looks up a key that is not an argument, to read its value. All stripes are locked.</summary>
    internal readonly Entry FindNamed(scoped ReadOnlySpan<byte> name)
    {
        Entry entry = Database.Find(name, Keyspace.Hash(name), Expiry);
        if (entry.Exists)
        {
            Metrics.KeyspaceHits++;
            Touch(entry);
        }
        else
        {
            NoteMiss(name, Keyspace.Hash(name));
        }

        return entry;
    }

    /// <summary>Looks a key up to describe it: counts a hit or miss but records no access.</summary>
    /// <param name="argument">The key's argument.</param>
    /// <param name="notifies">Whether a miss is notified.</param>
    internal readonly Entry Inspect(int argument, bool notifies = true)
    {
        Entry entry = Database.Find(this[argument], HashOf(argument), Expiry);
        if (entry.Exists) Metrics.KeyspaceHits++;
        else if (notifies) NoteMiss(this[argument], HashOf(argument));
        else Metrics.KeyspaceMisses++;
        return entry;
    }

    /// <summary>Looks a key up that is about to change: notes the access but counts no hit or miss.</summary>
    // Never inlined: with the search inside, a handler exceeds the JIT's inlining budget, and its uses of the entry become calls
    // with copies of it (docs/performance-log.md, round 28).
    [MethodImpl(MethodImplOptions.NoInlining)]
    internal readonly Entry FindToWrite(int argument)
    {
        Entry entry = Database.OpenToWrite(this[argument], HashOf(argument), Expiry);
        if (entry.Exists) Touch(entry);
        return entry;
    }

    /// <summary>
    /// Looks a key up whose value is about to be replaced or removed as a whole: notes the access. The store announces that itself, so a
    /// snapshot need not write the old value before it goes.
    /// </summary>
    [MethodImpl(MethodImplOptions.NoInlining)] // as FindToWrite
    internal readonly Entry FindToReplace(int argument)
    {
        Entry entry = Database.Find(this[argument], HashOf(argument), Expiry);
        if (entry.Exists) Touch(entry);
        return entry;
    }

    /// <summary>Looks up a key without a trace: no hit, no miss, no access.</summary>
    internal readonly Entry Peek(int argument) => Database.Find(this[argument], HashOf(argument), Expiry);

    /// <summary>Looks a key up in another database without a trace.</summary>
    internal readonly Entry PeekIn(Database database, int argument) => database.Find(this[argument], HashOf(argument), Expiry);

    /// <summary>Finds the first key's string, or replies null or WRONGTYPE.</summary>
    internal readonly bool FindStringOrReplyNull(int argument, out Entry entry)
    {
        entry = Find(argument);
        if (!entry.Exists)
        {
            Reply.Null();
            return false;
        }

        return IsTypeOrReply(entry, DataType.String);
    }

    /// <summary>Whether an entry is missing or of a type; otherwise replies WRONGTYPE.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal readonly bool IsTypeOrReply(scoped in Entry entry, DataType type)
    {
        if (!entry.Exists || entry.Type == type) return true;
        ReplyWrongType();
        return false;
    }

    /// <summary>Stores a string at a key, replacing any value. Copies the value.</summary>
    internal readonly Entry WriteString(int argument, Entry existing, ReadOnlySpan<byte> value, long expiryMs) =>
        WriteString(argument, existing, value, StringEncoding.Of(value), expiryMs);

    /// <summary>Stores a string of an encoding at a key, replacing any value. Copies the value.</summary>
    internal readonly Entry WriteString(int argument, Entry existing, ReadOnlySpan<byte> value, ValueEncoding encoding, long expiryMs)
    {
        // Under an LFU policy, a key that gets a new value keeps its access count.
        uint clock = !_environment.TouchesByClock && existing.Exists && Settings.CountsFrequency ? existing.AccessClock : _environment.NewAccessClock;
        Entry entry = Database.WriteString(this[argument], HashOf(argument), existing, value.Length, encoding, expiryMs, clock);
        value.CopyTo(entry.Value);
        return entry;
    }

    /// <summary>The access clock of an entry that is written now.</summary>
    internal readonly uint NewAccessClock => _environment.NewAccessClock;

    /// <summary>Reads an integer argument, or replies that it is not one.</summary>
    internal readonly bool TryIntegerOrReply(int argument, out long value)
    {
        if (RespNumber.TryParseInt64(this[argument], out value)) return true;
        Reply.Error("ERR value is not an integer or out of range"u8);
        return false;
    }

    /// <summary>
    /// Reports a change of a key. This one call feeds everything that follows from a change: blocked clients, notifications, the log,
    /// counters.
    /// </summary>
    /// <param name="argument">The key's argument.</param>
    /// <param name="keyEvent">What happened to the key, as Redis's notifications name it.</param>
    /// <param name="count">How many changes it counts for in rdb_changes_since_last_save; 0 for a further event of one change.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal readonly void Changed(int argument, KeyEvent keyEvent, long count = 1)
    {
        Metrics.Changes += count;
        if (_environment.IsObserved) Record(argument, keyEvent);
    }

    /// <summary>Reports a change of a key that is not an argument, or not in the selected database.</summary>
    internal readonly void Changed(Database database, ReadOnlySpan<byte> key, ulong hash, KeyEvent keyEvent, long count = 1)
    {
        Metrics.Changes += count;
        if (_environment.IsObserved) _environment.Changes.Add(keyEvent, database.Index, hash, key);
    }

    /// <summary>Reports that every key of a database may have changed. All stripes are locked.</summary>
    internal readonly void ChangedDatabase(Database database, long count = 1)
    {
        Metrics.Changes += count;
        if (_environment.IsObserved) _environment.Changes.Add(KeyEvent.Flush, database.Index, 0, []);
    }

    /// <summary>Whether effects have consumers, so that they are worth preparing.</summary>
    internal readonly bool RecordsEffects => _environment.RecordsEffects;

    /// <summary>
    /// Begins a command that replicas and the log get instead of the request, in the selected database. Needed where the request alone
    /// does not determine the result. The arguments follow; without a consumer nothing is recorded.
    /// </summary>
    /// <param name="name">The command's name.</param>
    /// <param name="arguments">The number of arguments, the name included.</param>
    internal readonly EffectArguments Effect(scoped ReadOnlySpan<byte> name, int arguments)
    {
        if (!_environment.RecordsEffects) return default;
        _environment.Effects.ReplaceRequest();
        return new EffectArguments(_environment.Effects.Begin(Database.Index, arguments, name), _input);
    }

    /// <summary>
    /// The request itself is the effect although nothing counts as changed; or it would be, and this only says so earlier.
    /// </summary>
    /// <param name="onlyReplicas">Whether it is a message, which the log does not keep.</param>
    internal readonly void EffectRequest(bool onlyReplicas = false)
    {
        if (!_environment.RecordsEffects) return;
        _environment.Effects.ReplaceRequest();
        var effect = new EffectArguments(_environment.Effects.Begin(Database.Index, Count, this[0], onlyReplicas), _input);
        for (int i = 1; i < Count; i++) effect.Argument(this[i]);
    }

    /// <summary>Reports a change of the function libraries. They belong to no stripe; the script mutex is held.</summary>
    internal readonly void ChangedLibraries() => Metrics.Changes++;

    /// <summary>Replaces the request, for replicas and the log, by nothing beyond what <see cref="Effect"/> writes.</summary>
    internal readonly void ReplaceEffect()
    {
        if (_environment.RecordsEffects) _environment.Effects.ReplaceRequest();
    }

    /// <inheritdoc cref="CommandEnvironment.IsInUnit"/>
    internal readonly bool IsInUnit => _environment.IsInUnit;

    /// <summary>Whether a script calls the command.</summary>
    internal readonly bool IsInScript => _environment.IsInScript;

    /// <summary>Whether the client was blocked, and this is the execution of its command because a key may serve it.</summary>
    internal readonly bool IsServed => _environment.IsServing;

    /// <summary>
    /// Blocks the client, once the handler returns, until one of the keys that the command reads holds a value of a type; then
    /// the command executes again. The handler must not reply.
    /// </summary>
    /// <param name="type">The type of value that serves the client.</param>
    /// <param name="deadlineMs">When the wait ends, by the steady clock.</param>
    /// <param name="wakesWhenGone">Whether the command is also executed when a key is gone or holds another type.</param>
    /// <returns>False where nothing may block (in a transaction or script): the reply is that of a deadline that has passed.</returns>
    internal readonly bool BlockOnKeys(DataType type, long deadlineMs, bool wakesWhenGone = false)
    {
        if (!_environment.MayBlock) return false;
        _environment.BlockRequest = new BlockRequest { Type = type, DeadlineMs = deadlineMs, WakesWhenGone = wakesWhenGone };
        return true;
    }

    /// <summary>Blocks the client, once the handler returns, until a time or CLIENT UNBLOCK. The handler must not reply.</summary>
    /// <returns>False where nothing may block (in a transaction or script): the reply is that of a deadline that has passed.</returns>
    internal readonly bool BlockUntil(long deadlineMs, byte[] timeoutReply)
    {
        if (!_environment.MayBlock) return false;
        _environment.BlockRequest = new BlockRequest { DeadlineMs = deadlineMs, TimeoutReply = timeoutReply };
        return true;
    }

    /// <summary>The copy that the client has waited for, if this is the execution after it is complete.</summary>
    internal readonly EntryCopy? CompleteCopy => _environment.CopyingClient?.Copy is { IsComplete: true, IsStale: false } copy ? copy : null;

    /// <summary>
    /// Blocks the client, once the handler returns, until a copy is complete or its source has
    /// changed; then the command executes again, and attaches the copy or starts over. The handler must not reply.
    /// </summary>
    /// <returns>False where nothing may block, or if the source has changed too often: the rest is copied at once.</returns>
    internal readonly bool BlockOnCopy(EntryCopy copy)
    {
        if (!_environment.MayBlock || _environment.CopyingClient?.CopyRestarts >= CopyRestartsMax) return false;
        copy.Watch(Database);
        _environment.BlockRequest = new BlockRequest { Copy = copy, DeadlineMs = BlockRequest.NoDeadline };
        return true;
    }

    /// <summary>Gives an argument another value in later executions, after <see cref="BlockOnKeys"/>.</summary>
    internal readonly void ReplaceArgument(int argument, ReadOnlySpan<byte> value) =>
        _environment.BlockRequest?.Replacements.Add((argument, value.ToArray()));

    /// <summary>Ends another client's wait, as if its deadline had passed or with the error UNBLOCKED.</summary>
    internal readonly bool Unblock(Session session, ReadOnlySpan<byte> reply)
    {
        if (session.Blocked is not { MayBeUnblocked: true } client || !client.TryEnd()) return false;
        if (!reply.IsEmpty)
        {
            client.Reply = [Payload.Of(_environment.Buffers, reply)];
            Metrics.CountError("UNBLOCKED");
            CommandMetrics metrics = Metrics.Of(client.Request.Command.Index);
            metrics.Failed++;
            metrics.CountError("UNBLOCKED");
        }

        _environment.Unblocked.Add(client);
        return true;
    }

    /// <summary>Executes the commands that the client has queued, one after the other; each adds its reply.</summary>
    internal void ExecuteQueued(Transaction transaction)
    {
        INestedExecutor nested = _environment.Nested;
        nested.BeginUnit();
        foreach (SavedRequest request in transaction.Commands)
        {
            nested.RunQueued(Session, request, Reply);
        }

        nested.EndUnit();
        Database = Keyspace.Databases[Session.DatabaseIndex]; // SELECT may have been among them
    }

    /// <summary>Executes commands inside this one.</summary>
    internal readonly INestedExecutor Nested => _environment.Nested;

    /// <summary>Whether a key exists, without a trace. Its stripe is locked.</summary>
    internal readonly bool Exists(KeyIdentity identity, ReadOnlySpan<byte> name) => Keyspace.Databases[identity.Database].Find(name, identity.Hash, Expiry).Exists;

    /// <summary>Replies that a limit of what clients can make the server keep is reached, and counts that.</summary>
    internal readonly void ReplyOverLimit(Metrics.Limit limit, string error)
    {
        Metrics.Limits.Note(limit);
        Reply.Error(error);
    }

    /// <summary>Replies that a limit is reached, if names that are added exceed max-client-state-bytes.</summary>
    /// <param name="addedBytes">Their bytes.</param>
    /// <param name="added">Their number.</param>
    internal readonly bool IsStateWithinLimitOrReply(long addedBytes, int added)
    {
        if (Session.StateBytes + addedBytes + ((long)added * Session.NameOverhead) <= Settings.ClientStateBytesMax) return true;
        ReplyOverLimit(RedKite.Server.Metrics.Limit.ClientStateBytes, $"ERR too many bytes of watched keys, subscriptions and prefixes, max-client-state-bytes is {Settings.ClientStateBytesMax}");
        return false;
    }

    /// <summary>Replies a syntax error.</summary>
    internal readonly void ReplySyntaxError() => Reply.Error("ERR syntax error"u8);

    /// <summary>
    /// Locks a stripe for a command that walks over a database without naming keys, unless it is locked for the command
    /// already (inside a transaction or script). One at a time, and released by <see cref="ExitStripe"/>.
    /// </summary>
    internal readonly void EnterStripe(int stripe) => _environment.EnterStripe(stripe);

    internal readonly void ExitStripe(int stripe) => _environment.ExitStripe(stripe);

    /// <summary>Selects another database for the rest of the session.</summary>
    internal void Select(int index)
    {
        Session.DatabaseIndex = index;
        Database = Keyspace.Databases[index];
    }

    /// <summary>Reads the clock again, after a long command; not inside a transaction or script, during which the time does not change.</summary>
    internal readonly void RefreshTime()
    {
        if (!_environment.IsInUnit) _environment.ReadTime();
    }

    /// <summary>The time in Unix microseconds. It does not change during a transaction or script, until the script is busy.</summary>
    internal readonly long NowMicroseconds => _environment is { IsInUnit: true, IsScriptBusy: false } ? _environment.StoppedMicroseconds : Clock.NowMicroseconds;

    // Misses are recorded only if notifications of missing keys are selected.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private readonly void NoteMiss(scoped ReadOnlySpan<byte> key, ulong hash)
    {
        Metrics.KeyspaceMisses++;
        if (_environment.IsObserved && Settings.NotifiesKeyMisses) _environment.Changes.Add(KeyEvent.KeyMiss, Database.Index, hash, key);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private readonly void Record(int argument, KeyEvent keyEvent) => _environment.Changes.Add(keyEvent, Database.Index, HashOf(argument), this[argument]);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private readonly void ReplyWrongType() => Reply.Error("WRONGTYPE Operation against a key holding the wrong kind of value"u8);

    private readonly ulong HashOfLaterKey(int argument)
    {
        ulong known = _environment.KeyHashes.Find(argument);
        return known != 0 ? known : Keyspace.Hash(this[argument]);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private readonly void Touch(scoped in Entry entry)
    {
        if (_environment.TouchesByClock) entry.SetAccessClock(_environment.NewAccessClock);
        else _environment.TouchSlow(Session, entry);
    }

    /// <summary>Notes an access although the client has CLIENT NO-TOUCH.</summary>
    internal readonly void TouchAnyway(Entry entry) => _environment.Touch(entry);

    private static int DecimalDigits(int value)
    {
        int digits = 1;
        for (; value >= 10; value /= 10) digits++;
        return digits;
    }
}
