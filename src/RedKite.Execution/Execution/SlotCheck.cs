using System.Globalization;
using RedKite.Scripting;
using RedKite.Server.Cluster;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution;

/// <summary>
/// Decides in a node of a cluster whether a command's keys are here, in one core. Before its stripes are locked it decides by slots (<see cref="Refusal"/>); with them locked, where the slot's keys
/// come or go, by which of the keys are here, and once more by slots if these have changed in between (<see cref="RefusalWithLocks"/>). The order of the rules is Redis's.
/// </summary>
internal sealed class SlotCheck(ExecutorCore core, CommandAccount account)
{
    private readonly Engine _engine = core.Engine;
    private readonly CommandEnvironment _environment = core.Environment;
    private SlotRouting? _used; // by which the command was admitted
    private bool _isMoving; // its keys are looked at with its stripes locked
    private int _scriptSlot = KeySlot.None; // of the keys that the script uses; none yet
    private bool _scriptMayCross;
    private SlotRouting? _scriptsRouting; // by which the script began

    /// <summary>Whether the command that was admitted last waits until its slot's owner is known, or who has this node's role.</summary>
    internal bool Waits { get; private set; }

    // What the server executed before, or its primary, is not asked again.
    private SlotRouting? Routing => core.IsTrusted ? null : _engine.Routing.Value;

    /// <summary>Why a request may not execute or be queued here; null: it may. Nothing is locked.</summary>
    internal string? Refusal(scoped in CommandContext cmd, Command command)
    {
        _used = Routing;
        _isMoving = Waits = false;
        if (_used is not { } routing) return null;
        _environment.Time.KeepExpired(!routing.RemovesKeys);
        account.BeginIn(KeySlot.None);
        if (!MayHaveKeys(command) && !routing.MayBeReplaced) return null;
        bool isQueued = Admission.IsQueued(cmd, command);
        Decision decision = Decide(cmd, command, routing, isQueued ? Look.Locking : Look.No);
        account.BeginIn(decision.Slot);
        if (IsDown(decision))
        {
            if (!_engine.IsHandingOver(routing)) return Routing == routing ? TextOf(decision, routing, cmd.Session) : Refusal(cmd, command); // the handover may have ended behind the first look
            Waits = !isQueued; // EXEC does
            return null;
        }

        if (decision.Verdict == Verdict.IsAwaited && (isQueued || _environment.Time.SteadyMs >= routing.AwaitedUntilMs(decision.Slot))) return TextOf(decision, routing, cmd.Session);
        bool isSettled = decision.Verdict is not (Verdict.IsClosed or Verdict.IsAwaited);
        Waits = !isSettled && !isQueued;
        return isSettled ? TextOf(decision, routing, cmd.Session) : null;
    }

    /// <summary>The same with the command's stripes locked: what was not known before, or has changed since.</summary>
    internal string? RefusalWithLocks(scoped in CommandContext cmd, Command command)
    {
        SlotRouting? routing = Routing;
        bool isReceived = (cmd.Session.Attention & SessionAttention.ReceivesSlots) != 0; // its end is no other routing
        if (routing is null || (routing == _used && !_isMoving && !isReceived)) return null;
        string? refusal = TextOf(Decide(cmd, command, routing, Look.Yes), routing, cmd.Session);
        if (refusal is null) _used = routing;
        return refusal;
    }

    /// <summary>Whether the command waits as above, by what has changed since it was admitted. Its stripes are locked, and it has executed nothing.</summary>
    internal bool WaitsWithLocks(scoped in CommandContext cmd, Command command) =>
        Routing is { } routing && routing != _used && _engine.IsHandingOver(routing) && IsDown(Decide(cmd, command, routing, Look.Yes));

    /// <summary>
    /// The same for a command of a transaction, which EXEC has been admitted for as a whole: its slot may have gone while it executes, behind a script in it. What is only about to go has not, as that waits for
    /// EXEC's stripes: the rest executes, so that the transaction is whole. So it does behind the lease's end, and no reply leaves. Nor has a slot gone that begins to move key by key: the stripe that EXEC has
    /// locked has all of the slot's keys.
    /// </summary>
    internal string? RefusalOfQueued(scoped in CommandContext cmd)
    {
        SlotRouting? routing = Routing;
        if (routing is null || routing == _used) return null;
        Decision decision = Decide(cmd, cmd.Command, routing, Look.Yes);
        switch (decision.Verdict)
        {
            case Verdict.IsHeld when _used?.IsHeld(decision.Slot) != true:
            case Verdict.IsClosed when _used?.IsClosed(decision.Slot) != true:
            case Verdict.IsDown or Verdict.IsDownForWrites when _used?.IsUp == true && StaysHere(decision, routing):
            case Verdict.Asks or Verdict.IsUnstable:
                return null;
            default:
                return TextOf(decision, routing, cmd.Session);
        }
    }

    /// <summary>The same for a command that has worked in slices, and now executes: its slot, or key, may have gone in between.</summary>
    internal string? RefusalOfWorked(scoped in CommandContext cmd, Command command)
    {
        if (Routing is not { } routing) return null;
        return TextOf(command.MovesKeys ? DecideMove(cmd, command, routing) : Decide(cmd, command, routing, Look.Yes), routing, cmd.Session);
    }

    // Without a right to serve the node goes on only with what no other node has by the topology that it goes by.
    private static bool StaysHere(Decision decision, SlotRouting routing) => decision.Slot == KeySlot.None || routing.OwnerOf(decision.Slot) == routing.Self;

    // Its keys are of one slot, and where that moves key by key it executes whichever of them are here. It may have very many, and asks behind each part of them.
    private static Decision DecideMove(scoped in CommandContext cmd, Command command, SlotRouting routing)
    {
        var keys = new KeysSeen { Slot = KeySlot.None };
        var extraction = new KeyExtraction(command);
        Verdict verdict = extraction.MoveNext(cmd) ? See(cmd[extraction.Argument], routing, ref keys) : Verdict.Executes;
        if (verdict == Verdict.Executes && keys.Slot != KeySlot.None) verdict = Conclude(cmd, command, routing, keys, executesMigrate: true, Look.Yes);
        return new Decision(verdict, keys.Slot);
    }

    /// <summary>The same for a command of the short path, whose one key is locked.</summary>
    internal string? RefusalOfShort(scoped in CommandContext cmd, Command command)
    {
        if (Routing is not { } routing || routing.Serves(KeyHasher.SlotOf(cmd.HashOf(command.FirstKey)))) return null;
        return TextOf(Decide(cmd, command, routing, Look.Yes), routing, cmd.Session);
    }

    internal void BeginScript(scoped in CommandContext cmd, int keys, bool mayCrossSlots)
    {
        if (Routing is null) return;
        _scriptMayCross = mayCrossSlots;
        _scriptsRouting = _used ?? Routing; // in a transaction that by which EXEC was admitted
        _scriptSlot = keys > 0 ? KeySlot.Of(cmd[cmd.Command.FirstKey > 0 ? cmd.Command.FirstKey : cmd.Command.EarlyKey]) : KeySlot.None;
    }

    /// <summary>Why a script may not execute the command that it calls, whose stripes are locked; null: it may.</summary>
    internal string? RefusalOfScripted(scoped in CommandContext cmd)
    {
        if (Routing is not { } routing) return null;
        Decision decision = Decide(cmd, cmd.Command, routing, Look.Yes);
        switch (decision.Verdict)
        {
            case Verdict.Executes: break;
            case Verdict.IsDown or Verdict.IsDownForWrites when _scriptsRouting?.IsUp == true && StaysHere(decision, routing): break; // as in a transaction, which it may be a part of
            case Verdict.Asks or Verdict.IsUnstable when _scriptSlot == decision.Slot && _scriptsRouting?.IsMoving(decision.Slot) == false: break; // it has the stripe of the slot's keys
            case Verdict.IsDownForWrites: return "ERR Script attempted to execute a write command while the cluster is down and readonly";
            case Verdict.IsDown: return "ERR Script attempted to execute a command while the cluster is down";
            case Verdict.CrossesSlots: return $"ERR Command '{cmd.Command.FullName}' in script attempted to access keys that don't hash to the same slot";
            case Verdict.IsNotServed: return "ERR Script attempted to access a slot not served";
            case Verdict.IsHeld when _scriptsRouting is not { } began || !(decision.Slot == KeySlot.None ? began.HoldsSlots : began.IsHeld(decision.Slot)): break; // it is waited for
            case Verdict.IsClosed when _scriptsRouting?.IsClosed(decision.Slot) != true: break; // it reads what was there when it began
            case Verdict.IsHeld or Verdict.IsClosed or Verdict.IsAwaited or Verdict.IsUnstable: return $"ERR Unable to execute command '{cmd.Command.FullName}' in script because undeclared keys were accessed during rehashing of the slot";
            default: return "ERR Script attempted to access a non local key in a cluster node";
        }

        if (decision.Slot == KeySlot.None || _scriptMayCross) return null;
        if (_scriptSlot == KeySlot.None) _scriptSlot = decision.Slot;
        return _scriptSlot == decision.Slot ? null : CrossSlotScript;
    }

    private const string CrossSlotScript = "ERR Script attempted to access keys that do not hash to the same slot";

    private static bool IsDown(Decision decision) => decision.Verdict is Verdict.IsDown or Verdict.IsDownForWrites;

    private static bool MayHaveKeys(Command command) => command.Keys.Length > 0 || command.RunsQueued;

    // What writes without naming a key, or reads what it finds by itself, is about keys that another node may serve by now.
    private static Verdict VerdictWithoutKeys(Command command, SlotRouting routing, Look look)
    {
        bool writes = command.Is(CommandFlags.Write);
        if (look == Look.Yes && writes && command.Is(CommandFlags.AllStripes) && routing.HoldsSlots) return Verdict.IsHeld; // the keys that are with the other node already would live on
        if (!routing.MayBeReplaced || (!writes && !command.ReadsUnnamedKeys)) return Verdict.Executes;
        if (!routing.AllowsReadsWhenDown) return Verdict.IsDown;
        return writes ? Verdict.IsDownForWrites : Verdict.Executes;
    }

    private Decision Decide(scoped in CommandContext cmd, Command command, SlotRouting routing, Look look)
    {
        if (!MayHaveKeys(command)) return new Decision(VerdictWithoutKeys(command, routing, look), KeySlot.None);
        var keys = new KeysSeen { Slot = KeySlot.None };
        Verdict verdict = Verdict.Executes;
        bool executesMigrate = false;
        if (!command.RunsQueued)
        {
            executesMigrate = command.MovesKeys;
            verdict = See(cmd, command, routing, look, ref keys);
        }
        else if (cmd.Session.Transaction is { } transaction)
        {
            foreach (QueuedCommand queued in transaction.Commands)
            {
                var each = new CommandContext(_environment, cmd.Session, queued.Input, cmd.Reply, queued.DatabaseIndex);
                each.Begin(queued.Command, queued.Arguments, queued.FirstKeyHash);
                verdict = MayHaveKeys(queued.Command) ? See(each, queued.Command, routing, look, ref keys) : VerdictWithoutKeys(queued.Command, routing, look);
                if (verdict != Verdict.Executes) break;
            }
        }

        if (verdict == Verdict.Executes && keys.Slot != KeySlot.None) verdict = Conclude(cmd, command, routing, keys, executesMigrate, look);
        return new Decision(verdict, keys.Slot);
    }

    // Adds the keys of one command.
    private Verdict See(scoped in CommandContext cmd, Command command, SlotRouting routing, Look look, ref KeysSeen keys)
    {
        if (command.ShardChannels == ShardChannelUse.Leaves) return Verdict.Executes;
        if (command.ShardChannels == ShardChannelUse.Uses)
        {
            keys.HasShardChannels = true;
            int end = command.Keys[0].Last < 0 ? cmd.Count : command.Keys[0].Last + 1;
            for (int i = command.Keys[0].First; i < end; i++)
            {
                Verdict verdict = See(cmd[i], routing, ref keys);
                if (verdict != Verdict.Executes) return verdict;
            }

            return Verdict.Executes;
        }

        if (command.HasSlotCursor) return cmd[1] is [(byte)'0'] ? Verdict.Executes : See(cmd[1], routing, ref keys);
        var extraction = new KeyExtraction(command);
        while (extraction.MoveNext(cmd))
        {
            ReadOnlySpan<byte> key = cmd[extraction.Argument];
            Verdict verdict = See(key, routing, ref keys);
            if (verdict != Verdict.Executes) return verdict;
            if (!routing.IsMoving(keys.Slot)) continue;
            _isMoving = true;
            keys.UseOtherDatabase |= cmd.Keyspace.Databases.Length > 1 && command.UsesOtherDatabase?.Invoke(cmd) == true;
            ulong hash = cmd.Keyspace.Hash(key);
            keys.AreSeveral |= keys.FirstHash != 0 && keys.FirstHash != hash;
            if (keys.FirstHash == 0) keys.FirstHash = hash;
            if (look == Look.No) continue;
            if (IsHere(cmd, key, hash, look)) keys.HasPresent = true;
            else keys.HasMissing = true;
        }

        return Verdict.Executes;
    }

    private static Verdict See(ReadOnlySpan<byte> name, SlotRouting routing, ref KeysSeen keys)
    {
        int slot = KeySlot.Of(name);
        if (keys.Slot != KeySlot.None) return slot == keys.Slot ? Verdict.Executes : Verdict.CrossesSlots;
        keys.Slot = slot;
        return routing.OwnerOf(slot) == SlotRouting.NoNode ? Verdict.IsNotServed : Verdict.Executes;
    }

    // Without a trace: nothing expires by it.
    private bool IsHere(scoped in CommandContext cmd, ReadOnlySpan<byte> key, ulong hash, Look look)
    {
        var clock = new ExpiryClock(cmd.NowMs, ExpiryPolicy.Hide);
        if (look == Look.Yes) return cmd.Database.Find(key, hash, clock).Exists;
        if (!cmd.Keyspace.TryLock(StripeSet.Of(cmd.Keyspace.StripeOf(hash)), _environment.GivesUpWaiting, out LockScope locked)) return true; // a script is busy: EXEC looks again
        using (locked) return cmd.Database.Find(key, hash, clock).Exists;
    }

    private static Verdict Conclude(scoped in CommandContext cmd, Command command, SlotRouting routing, in KeysSeen keys, bool executesMigrate, Look look)
    {
        if ((cmd.Session.Attention & SessionAttention.ReceivesSlots) != 0 && cmd.Session.Reception is { } reception && reception.Slots.Contains(keys.Slot))
        {
            // What the source sent before it knew would be executed behind what clients have written since.
            return reception.Failure is null && routing.OwnerOf(keys.Slot) != routing.Self ? Verdict.Executes : Verdict.IsReceivedNoMore;
        }

        bool writes = Admission.Writes(cmd, command) || (command.ScriptFlagsOf?.Invoke(cmd) is { } flags && (flags & ScriptFlags.NoWrites) == 0);
        if (!routing.IsUp)
        {
            if (keys.HasShardChannels)
            {
                if (!routing.AllowsShardMessagesWhenDown) return Verdict.IsDown;
            }
            else if (!routing.AllowsReadsWhenDown)
            {
                return Verdict.IsDown;
            }
            else if (writes)
            {
                return Verdict.IsDownForWrites;
            }
        }

        bool isMigrating = routing.Migrating.ContainsKey(keys.Slot), isImporting = !isMigrating && routing.Importing.ContainsKey(keys.Slot);
        if ((isMigrating || isImporting) && executesMigrate && !routing.IsHeld(keys.Slot)) return Verdict.Executes;
        if (isMigrating && keys.UseOtherDatabase) return Verdict.IsUnstable;
        if (isMigrating && keys.HasMissing) return keys.HasPresent ? Verdict.IsUnstable : Verdict.Asks;
        if (isImporting && ((cmd.Session.Attention & SessionAttention.Asks) != 0 || command.Is(CommandFlags.Asking)))
        {
            return keys is { AreSeveral: true, HasMissing: true } or { UseOtherDatabase: true } ? Verdict.IsUnstable : Verdict.Executes;
        }

        int owner = routing.OwnerOf(keys.Slot);
        if (owner == routing.Self && routing.IsAwaited(keys.Slot)) return Verdict.IsAwaited;
        if (owner == routing.Self) return look == Look.Yes && writes && routing.IsHeld(keys.Slot) ? Verdict.IsHeld : routing.IsClosed(keys.Slot) ? Verdict.IsClosed : Verdict.Executes;
        bool mayReadHere = keys.HasShardChannels || (cmd.Session.Attention & SessionAttention.ReadsReplica) != 0;
        if (!mayReadHere || owner != routing.Primary || writes) return Verdict.IsElsewhere;
        return routing.IsAwaited(keys.Slot) ? Verdict.IsAwaited : Verdict.Executes;
    }

    private static string? TextOf(Decision decision, SlotRouting routing, Session session)
    {
        switch (decision.Verdict)
        {
            case Verdict.Executes: return null;
            case Verdict.CrossesSlots: return "CROSSSLOT Keys in request don't hash to the same slot";
            case Verdict.IsUnstable: return "TRYAGAIN Multiple keys request during rehashing of slot";
            case Verdict.IsHeld or Verdict.IsClosed: return "TRYAGAIN The slot is being given to another node";
            case Verdict.IsAwaited: return "TRYAGAIN Another node may still serve the slot";
            case Verdict.IsDown: return "CLUSTERDOWN The cluster is down";
            case Verdict.IsDownForWrites: return "CLUSTERDOWN The cluster is down and only accepts read commands";
            case Verdict.IsNotServed: return "CLUSTERDOWN Hash slot not served";
            case Verdict.IsReceivedNoMore: return "ERR the slot is not received any more";
            case Verdict.Asks: return Redirect("ASK", routing.Migrating[decision.Slot]);
            default: return Redirect("MOVED", routing.OwnerOf(decision.Slot));
        }

        string Redirect(string word, int node) => RedirectText(word, decision.Slot, routing.Nodes[node], session);
    }

    /// <summary>Why a client may not wait any longer for the keys of a slot here; null: it may.</summary>
    internal static string? RefusalOfWait(SlotRouting routing, int slot, BlockedClient client)
    {
        int owner = routing.OwnerOf(slot);
        if (!routing.IsUp) return TextOf(new Decision(Verdict.IsDown, slot), routing, client.Session);
        if (owner == routing.Self || routing.Importing.ContainsKey(slot)) return null;
        if (owner == routing.Primary && owner != SlotRouting.NoNode && (client.Session.Attention & SessionAttention.ReadsReplica) != 0 && !client.Request.Command.Is(CommandFlags.Write)) return null;
        return TextOf(new Decision(owner == SlotRouting.NoNode ? Verdict.IsNotServed : Verdict.IsElsewhere, slot), routing, client.Session);
    }

    // The reply that sends a client to another node.
    private static string RedirectText(string word, int slot, RoutedNode node, Session session) =>
        string.Create(CultureInfo.InvariantCulture, $"{word} {slot} {(session.Connection is { HasLayer: true } ? node.TlsEndpoint : node.Endpoint)}");

    private enum Verdict
    {
        Executes,
        CrossesSlots,
        IsNotServed,
        IsDown,
        IsDownForWrites,
        IsUnstable,
        IsHeld,
        IsClosed,
        IsAwaited,
        Asks,
        IsReceivedNoMore,
        IsElsewhere,
    }

    // Whether keys of a moving slot are looked up.
    private enum Look
    {
        /// <summary>Later, with the command's stripes locked.</summary>
        No,

        /// <summary>They are locked.</summary>
        Yes,

        /// <summary>Each with its stripe locked for that: the command is queued.</summary>
        Locking,
    }

    private readonly record struct Decision(Verdict Verdict, int Slot);

    private struct KeysSeen
    {
        internal int Slot;
        internal ulong FirstHash; // of the first key, in a moving slot
        internal bool AreSeveral;
        internal bool UseOtherDatabase;
        internal bool HasPresent;
        internal bool HasMissing;
        internal bool HasShardChannels;
    }
}
