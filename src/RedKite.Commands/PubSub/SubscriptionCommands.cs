using RedKite.Net.Interop;
using RedKite.Protocol;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.PubSub;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.PubSub;

/// <summary>The commands that begin and end subscriptions. The table is their single declaration and this file's contents.</summary>
internal sealed class SubscriptionCommands(MessageHub hub, BufferPool buffers)
{
    private const CommandFlags Usual = CommandFlags.PubSub | NoScript | Loading | Stale | AllowedToSubscribers;

    private static readonly KeySpec[] ShardChannels = KeySpecs.Range(1, -1, 1, KeyFlags.NotKey);

    internal CommandFamily Family => new("pubsub", "",
    [
        new("PSUBSCRIBE", -2, Usual | DenyOom, KeySpecs.None, SubscribeToPatterns, new("2.0.0", "O(N) where N is the number of patterns to subscribe to.", "Subscribes to all channels that match patterns.", "pattern [pattern ...]")),
        new("PUNSUBSCRIBE", -1, Usual, KeySpecs.None, UnsubscribeFromPatterns, new("2.0.0", "O(N) where N is the number of patterns to unsubscribe.", "Ends subscriptions to patterns, or all of them.", "[pattern [pattern ...]]")),
        new("SSUBSCRIBE", -2, Usual | DenyOom, ShardChannels, SubscribeToShardChannels, new("7.0.0", "O(N) where N is the number of shard channels to subscribe to.", "Subscribes to sharded channels.", "shardchannel [shardchannel ...]")) { ShardChannels = ShardChannelUse.Uses },
        new("SUBSCRIBE", -2, Usual | DenyOom, KeySpecs.None, SubscribeToChannels, new("2.0.0", "O(N) where N is the number of channels to subscribe to.", "Subscribes to channels.", "channel [channel ...]")),
        new("SUNSUBSCRIBE", -1, Usual, ShardChannels, UnsubscribeFromShardChannels, new("7.0.0", "O(N) where N is the number of shard channels to unsubscribe.", "Ends subscriptions to sharded channels, or all of them.", "[shardchannel [shardchannel ...]]")) { ShardChannels = ShardChannelUse.Leaves },
        new("UNSUBSCRIBE", -1, Usual, KeySpecs.None, UnsubscribeFromChannels, new("2.0.0", "O(N) where N is the number of channels to unsubscribe.", "Ends subscriptions to channels, or all of them.", "[channel [channel ...]]")),
    ]);

    // PSUBSCRIBE pattern [pattern ...]
    private void SubscribeToPatterns(ref CommandContext cmd) => Subscribe(ref cmd, SubscriptionKind.Pattern, "psubscribe"u8);

    // PUNSUBSCRIBE [pattern [pattern ...]]
    private void UnsubscribeFromPatterns(ref CommandContext cmd) => Unsubscribe(ref cmd, SubscriptionKind.Pattern, "punsubscribe"u8);

    // SSUBSCRIBE shardchannel [shardchannel ...]
    private void SubscribeToShardChannels(ref CommandContext cmd) => Subscribe(ref cmd, SubscriptionKind.ShardChannel, "ssubscribe"u8);

    // SUBSCRIBE channel [channel ...]
    private void SubscribeToChannels(ref CommandContext cmd) => Subscribe(ref cmd, SubscriptionKind.Channel, "subscribe"u8);

    // SUNSUBSCRIBE [shardchannel [shardchannel ...]]
    private void UnsubscribeFromShardChannels(ref CommandContext cmd) => Unsubscribe(ref cmd, SubscriptionKind.ShardChannel, "sunsubscribe"u8);

    // UNSUBSCRIBE [channel [channel ...]]
    private void UnsubscribeFromChannels(ref CommandContext cmd) => Unsubscribe(ref cmd, SubscriptionKind.Channel, "unsubscribe"u8);

    private void Subscribe(ref CommandContext cmd, SubscriptionKind kind, ReadOnlySpan<byte> confirmation)
    {
        Session session = cmd.Session;

        // A session in the process does not read messages, so they would accumulate.
        if (session is { Connection: null, Delivered: null })
        {
            cmd.Reply.Error($"ERR {cmd.Command.Name.ToUpperInvariant()} needs a connection");
            return;
        }

        // Redis allows the others in a transaction, for the sake of older clients.
        if (kind == SubscriptionKind.ShardChannel && cmd.Environment.IsInUnit)
        {
            cmd.Reply.Error("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client"u8);
            return;
        }

        if (!cmd.IsStateWithinLimitOrReply(cmd.Arguments.Bytes, cmd.Count - 1)) return;
        if ((session.Subscriptions?.Count ?? 0) + cmd.Count - 1 > cmd.Settings.SubscriptionsPerClientMax && AddsTooMany(cmd, kind))
        {
            cmd.ReplyOverLimit(Limit.Subscriptions, $"ERR too many subscriptions, max-subscriptions-per-client is {cmd.Settings.SubscriptionsPerClientMax}");
            return;
        }

        ReplyWriter reply = BeginConfirmations(cmd);
        for (int i = 1; i < cmd.Count; i++)
        {
            hub.Subscribe(session, kind, cmd[i]);
            Confirm(reply, confirmation, cmd[i], Remaining(session, kind));
        }

        EndConfirmations(cmd, reply);
    }

    private void Unsubscribe(ref CommandContext cmd, SubscriptionKind kind, ReadOnlySpan<byte> confirmation)
    {
        Session session = cmd.Session;
        ReplyWriter reply = BeginConfirmations(cmd);
        if (cmd.Count > 1)
        {
            for (int i = 1; i < cmd.Count; i++)
            {
                hub.Unsubscribe(session, kind, cmd[i]);
                Confirm(reply, confirmation, cmd[i], Remaining(session, kind));
            }
        }
        else if (session.Subscriptions is { } own && own.CountOf(kind) > 0)
        {
            foreach (byte[] name in own.NamesOf(kind).ToArray())
            {
                hub.Unsubscribe(session, kind, name);
                Confirm(reply, confirmation, name, Remaining(session, kind));
            }
        }
        else
        {
            reply.Push(3);
            reply.Bulk(confirmation);
            reply.Null();
            reply.Integer(Remaining(session, kind));
        }

        EndConfirmations(cmd, reply);
    }

    private static bool AddsTooMany(scoped in CommandContext cmd, SubscriptionKind kind)
    {
        var names = new HashSet<byte[]>(NameComparer.Instance);
        ClientSubscriptions? own = cmd.Session.Subscriptions;
        for (int i = 1; i < cmd.Count; i++)
        {
            byte[] name = cmd[i].ToArray();
            if (own?.Contains(kind, name) != true) names.Add(name);
        }

        return names.Count > 0 && (cmd.Session.Subscriptions?.Count ?? 0) + names.Count > cmd.Settings.SubscriptionsPerClientMax;
    }

    // Sharded channels are counted by themselves.
    private static int Remaining(Session session, SubscriptionKind kind)
    {
        if (session.Subscriptions is not { } own) return 0;
        int shardChannels = own.CountOf(SubscriptionKind.ShardChannel);
        return kind == SubscriptionKind.ShardChannel ? shardChannels : own.Count - shardChannels;
    }

    private static void Confirm(ReplyWriter reply, ReadOnlySpan<byte> confirmation, ReadOnlySpan<byte> name, int count)
    {
        reply.Push(3);
        reply.Bulk(confirmation);
        reply.Bulk(name);
        reply.Integer(count);
    }

    // Confirmations are sent even if the client wants no replies.
    private ReplyWriter BeginConfirmations(scoped in CommandContext cmd) =>
        cmd.Session.ReplyMode == ReplyMode.On ? cmd.Reply : new ReplyWriter(buffers) { Resp3 = cmd.Session.Resp3 };

    private void EndConfirmations(scoped in CommandContext cmd, ReplyWriter reply)
    {
        if (reply == cmd.Reply) return;
        foreach (Payload part in Payload.Of(buffers, reply))
        {
            cmd.Session.Deliver(part);
            part.Buffer.Release();
        }

        reply.Clear();
    }
}
