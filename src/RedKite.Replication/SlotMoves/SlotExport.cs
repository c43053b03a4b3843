using System.Globalization;
using RedKite.Persistence.Aof;
using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Server.Cluster;
using RedKite.Server.Durability;
using RedKite.Server.Following;
using RedKite.Server.Sessions;

namespace RedKite.Server.SlotMoves;

/// <summary>
/// Moves slots from this node to another one: it sends their keys as of one moment, then the effects on them since, and when little is left it holds the writes, waits until the other node has everything, and has the slots
/// given to it. Until then this node owns them, whatever ends; after it the other one does.
/// </summary>
/// <remarks>
/// <para>All of it is commands, which the other node's connection executes and passes on to its own replicas and log: a large value is sent as many small ones (<see cref="CommandBase"/>). Replies are switched off, but for those
/// that this asks for.</para>
/// <para>Writes that begin wait by the pause of clients. Those that had begun meet a routing that holds the slots: they are refused with their keys locked, so once every stripe has been locked, and no script runs, nothing is
/// written to the slots behind what was sent.</para>
/// <para>On a thread of its own.</para>
/// </remarks>
internal sealed class SlotExport(SlotMoveService service, SlotMove move)
{
    private const int RetryMs = 100;

    private readonly ServerCore _core = service.Parts.Core;
    private readonly IClusterOwnership _ownership = service.Parts.Ownership;
    private readonly SlotStream _stream = new(move.Slots, SlotMoveLimits.WaitingBytesMax);
    private PrimaryConnection? _connection;
    private SlotRouting? _checked; // by which the slots are this node's
    private string? _refusal;
    private long _acks;
    private long _resumedMs; // when clients went on although the outcome was not known; 0: they did not
    private PromisedSlots? _promise; // of the destination; with a store
    private bool _intends; // this node's file says that the destination may have the slots; without a store

    private PrimaryConnection Connection => _connection!;

    private long NowMs => _core.Clock.NowMs;

    internal void Run()
    {
        try
        {
            move.NoteStarted(NowMs);
            SendAndHandOver();
        }
        catch (SlotDoubtException)
        {
            // The service asks.
        }
        catch (Exception failure) when (failure is IOException or System.Net.Sockets.SocketException or ObjectDisposedException or OperationCanceledException)
        {
            move.End(move.IsCanceled ? SlotMoveState.Canceled : SlotMoveState.Failed, move.IsCanceled ? "" : move.Reason ?? (_stream.IsOver ? "more waited for the destination than may" : service.Stopping.IsCancellationRequested ? "the node stops" : failure.Message), NowMs);
        }
        finally
        {
            move.CloseBy(null);
            _core.Changes.UnsubscribeFromEffects(_stream);
            _connection?.Dispose();
            if (_intends && _ownership.Doubtful.Count == 0) EndIntent();
        }
    }

    // Before anything waits: with a store, the destination promises; without one, the intent is on this node's disk. A start that finds it asks the destination, whose answer ends what that has received.
    private void Prepare()
    {
        if (_ownership.HasStore) AskForPromise();
        else if (!_intends) Intend();
    }

    private void Intend()
    {
        if (_ownership.Intend(move.Slots, move.SourceId, move.TargetId) is { } refusal) throw new IOException(refusal);
        _intends = true;
        service.Step("intended");
    }

    // Clients go by the outcome already.
    private void EndIntent()
    {
        _intends = false;
        _ownership.EndIntent(move.Slots);
        service.Step("kept");
    }

    private void AskForPromise()
    {
        if (_promise is not null) return;
        Connection.Send("CLUSTER", "SYNCSLOTS", "PROMISE", move.Id);
        string reply;
        do
        {
            if (!Connection.WaitForInput(SlotMoveLimits.AnswerMsMax)) throw new IOException("the destination does not answer");
            reply = Connection.ReceiveLine();
        }
        while (reply[0] == ':'); // an answer that was given up

        if (!reply.StartsWith(SlotMoveLimits.Promised, StringComparison.Ordinal)) throw new IOException(reply.TrimStart('-'));
        string[] words = reply[SlotMoveLimits.Promised.Length..].Split(' ');
        if (words.Length != 2 || !long.TryParse(words[0], CultureInfo.InvariantCulture, out long revision) || !long.TryParse(words[1], CultureInfo.InvariantCulture, out long epoch)) throw new IOException("the destination promises in another form than this version of RedKite understands");
        _promise = new PromisedSlots(revision, epoch);
        Connection.Send("CLIENT", "REPLY", "OFF");
        service.Step("promised");
    }

    private void SendAndHandOver()
    {
        move.Enter(SlotMoveState.Connecting, NowMs);
        _connection = SlotRequest.Connect(service.Parts, move.TargetId, move.Cancellation);
        move.CloseBy(_connection.Close);
        Establish();
        service.Step("established");
        SendSnapshot();
        service.Step("snapshot");
        move.Enter(SlotMoveState.Streaming, NowMs);
        for (int attempt = 0; attempt < SlotMoveLimits.HandoversMax; attempt++)
        {
            CatchUp();
            service.Step("caught-up");
            Prepare();
            CatchUp(); // with what came while a disk or the store was waited for
            if (TryHandOver()) return;
            move.NoteRetry();
            Thread.Sleep(RetryMs);
        }

        throw new IOException("the destination did not have everything within cluster-move-pause-ms");
    }

    private void Establish()
    {
        CheckOwner(); // behind the move's beginning, which SETSLOT looks at
        long startMs = _core.Clock.SteadyMs;
        while (true)
        {
            string reply = SlotRequest.Ask(Connection, SlotRequest.WithRanges(move.Slots, "CLUSTER", "SYNCSLOTS", "ESTABLISH", move.Id, move.SourceId));
            if (reply[0] == '+') break;
            if (!reply.StartsWith("-TRYAGAIN", StringComparison.Ordinal) || _core.Clock.SteadyMs - startMs > SlotMoveLimits.RemovalMsMax) throw new IOException(reply.TrimStart('-'));
            Thread.Sleep(RetryMs);
            Check();
            CheckOwner();
        }

        Connection.Send("CLIENT", "REPLY", "OFF");
    }

    private void SendSnapshot()
    {
        var pipe = new SlotPipe(service.Parts.Data);
        long pingedMs = _core.Clock.SteadyMs;
        while (!service.Parts.Data.TryBeginSynchronization(() => Walk(pipe)))
        {
            Thread.Sleep(RetryMs); // another snapshot is being written
            Check();
            if (_core.Clock.SteadyMs - pingedMs < SlotMoveLimits.PingIntervalMs) continue;
            Connection.Send("PING");
            pingedMs = _core.Clock.SteadyMs;
        }

        move.Enter(SlotMoveState.Snapshot, NowMs);
        try
        {
            ArrivingFile? file = null;
            file = new ArrivingFile("the slots' snapshot", () => pipe.Receive(piece => file!.Add(piece)));
            var pace = new WorkPace(() => service.Parts.Data.ExecutedCommands);
            var output = new CommandOutput(bytes =>
            {
                Check();
                Connection.SendBytes(bytes);
                service.NoteSent(move, bytes.Length);
                if (!service.Parts.Data.SnapshotIsAwaited) pace.Rest();
            });
            CommandBase.Convert(file, output, static (RdbBatch _, in RdbItem _) => null, file.Release);
            output.Flush();
            file.Drain();
        }
        finally
        {
            pipe.Abandon();
        }
    }

    // On the thread of snapshots.
    private void Walk(SlotPipe pipe)
    {
        try
        {
            using var writer = new RdbFileWriter(pipe.Add, compresses: false, sums: false);
            service.Parts.Data.WriteSlots(writer, move.Slots, () =>
            {
                _core.Changes.RequestEffects(_stream, isOn: true);
                _core.Changes.ApplyLocked();
            });
            writer.End();
            pipe.End(null);
        }
        catch (FileFailure failure)
        {
            pipe.End(new IOException(failure.Message, failure));
        }
    }

    // Until little is left: each round sends what has come while the destination answered for the one before.
    private void CatchUp()
    {
        while (true)
        {
            SendWaiting();
            AwaitAck(RequestAck(), SlotMoveLimits.AnswerMsMax, isNeeded: true);
            if (_stream.WaitingBytes < SlotMoveLimits.CaughtUpBytes) return;
        }
    }

    private void SendWaiting()
    {
        while (true)
        {
            Check();
            move.NoteWaiting(_stream.WaitingBytes);
            int bytes = _stream.Take(out byte[] chunk);
            if (bytes == 0) return;
            CheckOwner(); // behind it: what was taken may be the removal of keys whose slots have gone elsewhere
            Connection.SendBytes(chunk.AsSpan(0, bytes));
            service.NoteSent(move, bytes);
            SlotStream.Return(chunk);
        }
    }

    private long RequestAck(bool replicated = false)
    {
        string number = (++_acks).ToString(CultureInfo.InvariantCulture);
        if (replicated) Connection.Send("CLUSTER", "SYNCSLOTS", "ACK", number, "REPLICATED");
        else Connection.Send("CLUSTER", "SYNCSLOTS", "ACK", number);
        Connection.Send("CLIENT", "REPLY", "OFF");
        return _acks;
    }

    // An answer to an earlier request may come first: the pause in which it was awaited is over.
    private bool AwaitAck(long number, long waitMs, bool isNeeded = false)
    {
        long startMs = _core.Clock.SteadyMs;
        while (true)
        {
            long leftMs = waitMs - (_core.Clock.SteadyMs - startMs);
            if (leftMs <= 0 || !Connection.WaitForInput((int)leftMs)) return !isNeeded ? false : throw new IOException("the destination does not answer");
            string reply = Connection.ReceiveLine();
            if (reply[0] == '-') throw new IOException(reply[1..]);
            move.NoteAcknowledged(NowMs);
            if (reply == ":" + number.ToString(CultureInfo.InvariantCulture)) return true;
        }
    }

    private bool TryHandOver()
    {
        int pauseMs = _core.Settings.ClusterMovePauseMs;
        long startMs = _core.Clock.SteadyMs;
        move.Enter(SlotMoveState.Handover, NowMs);
        _core.Pause.Hold(PauseReason.SlotMove);
        try
        {
            _ownership.Hold(move.Slots);
            service.Step("held");
            if (!service.Parts.Data.TryBarrier(() => _core.Clock.SteadyMs - startMs >= pauseMs)) return false;
            SendWaiting();

            // Reads wait, too. From the destination's last answer on, its clients may flush what it has received; from when it is asked to take the slots on, they may write to them.
            _ownership.Hold(move.Slots, closes: true);
            long leftMs = pauseMs - (_core.Clock.SteadyMs - startMs);
            if (leftMs <= 0 || !AwaitAck(RequestAck(replicated: true), leftMs)) return false;
            service.Step("acknowledged");
            Check();
            if (_core.Replication.IsReplica) throw new IOException("the source has become a replica");
            leftMs = Math.Max(pauseMs - (_core.Clock.SteadyMs - startMs), 1);
            return _ownership.HasStore ? GiveByStore(leftMs) : Give(leftMs);
        }
        finally
        {
            _ownership.Hold(null);
            ResumeClients();
            move.NotePause((_resumedMs != 0 ? _resumedMs : _core.Clock.SteadyMs) - startMs);
            if (move.State is SlotMoveState.Completed) service.Barrier();
            if (move.State == SlotMoveState.Handover) move.Enter(SlotMoveState.Streaming, NowMs);
        }
    }

    private void ResumeClients()
    {
        _core.Pause.Release(PauseReason.SlotMove);
        service.Parts.ResumePaused();
    }

    // Clients wait as long as they may; then the slots alone are refused, until the outcome is known.
    private bool GiveByStore(long leftMs)
    {
        if (!move.TryEnterDoubt(NowMs)) Check();
        SlotGift gift = _ownership.BeginGift(move.Slots, move.TargetId, move.Id, _promise!.Value);
        service.Step("giving");
        if (!gift.Ended.Wait((int)leftMs, service.Stopping))
        {
            if (gift.TryWithdraw())
            {
                move.Enter(SlotMoveState.Handover, NowMs);
                return false;
            }

            _ownership.Doubt(gift);
            _ownership.Hold(null);
            _resumedMs = _core.Clock.SteadyMs;
            ResumeClients();
            service.Parts.SlotsMoved();
            service.Step("in-doubt");
            gift.Ended.Wait(service.Stopping);
            _ownership.Doubt(null);
        }

        if (gift.Ended.Result is { } refusal)
        {
            move.Enter(SlotMoveState.Handover, NowMs);
            throw new IOException(refusal);
        }

        move.End(SlotMoveState.Completed, "", NowMs);
        service.Step("given");
        return true;
    }

    private bool Give(long leftMs)
    {
        switch (_ownership.TryGive(move.Slots, move.SourceId, move.TargetId, () => Take(leftMs)))
        {
            case GiveOutcome.Given:
                move.End(SlotMoveState.Completed, "", NowMs);
                break;
            case GiveOutcome.Unknown:
                move.Enter(SlotMoveState.InDoubt, NowMs);
                service.Parts.SlotsMoved(); // blocked clients do not wait for slots that this node may not serve
                throw new SlotDoubtException();
            default:
                throw new IOException(_refusal ?? "the slots could not be given to the destination");
        }

        service.Step("given");
        return true;
    }

    // Clients wait as long as they may; if there is no answer by then, it is asked for.
    private GiveOutcome Take(long leftMs)
    {
        try
        {
            service.Step("asking");
            Connection.Send("CLUSTER", "SYNCSLOTS", "TAKE", move.Id);
            service.Step("taking");
            if (!Connection.WaitForInput((int)leftMs)) return GiveOutcome.Unknown;
            string reply = Connection.ReceiveLine();
            if (reply[0] == '+')
            {
                service.Step("taken");
                return GiveOutcome.Given;
            }

            _refusal = reply[1..];
            return GiveOutcome.Refused;
        }
        catch (Exception failure) when (failure is IOException or System.Net.Sockets.SocketException or ObjectDisposedException)
        {
            return GiveOutcome.Unknown;
        }
    }

    private void CheckOwner()
    {
        SlotRouting? routing = _core.Routing.Value;
        if (routing == _checked) return;
        foreach (int slot in move.Slots.Slots())
        {
            if (_ownership.OwnerOf(slot) != move.SourceId) throw new IOException("the source does not own the slots any more");
        }

        if (service.FaultOfStates(move.Slots) is { } fault) throw new IOException(fault);
        _checked = routing;
    }

    private void Check()
    {
        if (move.Reason is { } reason) throw new IOException(reason);
        if (_stream.IsOver) throw new IOException("more waited for the destination than may");
    }
}
