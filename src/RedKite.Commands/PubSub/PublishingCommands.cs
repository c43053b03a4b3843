using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Config;
using RedKite.Server.Model;
using RedKite.Server.PubSub;
using RedKite.Store.Keyspace;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.PubSub;

/// <summary>PUBLISH, SPUBLISH and PUBSUB. The table is their single declaration and this file's contents.</summary>
internal sealed class PublishingCommands(MessageHub hub)
{
    private const CommandFlags Usual = CommandFlags.PubSub | Loading | Stale;

    internal CommandFamily Family => new("pubsub", "",
    [
        new("PUBLISH", 3, Usual | Fast | PausedAsWrite, KeySpecs.None, Publish, new("2.0.0", "O(N+M) where N is the number of clients subscribed to the receiving channel and M is the total number of subscribed patterns (by any client).", "Publishes a message to a channel.", "channel message")),
        new("SPUBLISH", 3, Usual | Fast | PausedAsWrite, KeySpecs.One(1, KeyFlags.NotKey), PublishToShard, new("7.0.0", "O(N) where N is the number of clients subscribed to the receiving shard channel.", "Publishes a message to a sharded channel.", "shardchannel message")) { ShardChannels = ShardChannelUse.Uses },
        new("PUBSUB", -2, None, KeySpecs.None, WithoutSubcommand, new("2.8.0", "Depends on subcommand.", "A container for commands on subscriptions."),
        [
            new("CHANNELS", -2, Usual, KeySpecs.None, Channels, new("2.8.0", "O(N) where N is the number of active channels, and assuming constant time pattern matching (relatively short channels and patterns)", "Lists the channels with subscribers.", "pattern:[pattern]")),
            new("HELP", 2, Loading | Stale, KeySpecs.None, Help, new("6.2.0", "O(1)", "Lists the subcommands.")),
            new("NUMPAT", 2, Usual, KeySpecs.None, CountPatterns, new("2.8.0", "O(1)", "Counts the patterns with subscribers.")),
            new("NUMSUB", -2, Usual, KeySpecs.None, CountSubscribers, new("2.8.0", "O(N) for the NUMSUB subcommand, where N is the number of requested channels", "Counts the subscribers of channels.", "[channel [channel ...]]")),
            new("SHARDCHANNELS", -2, Usual, KeySpecs.None, ShardChannels, new("7.0.0", "O(N) where N is the number of active shard channels, and assuming constant time pattern matching (relatively short shard channels).", "Lists the sharded channels with subscribers.", "pattern:[pattern]")),
            new("SHARDNUMSUB", -2, Usual, KeySpecs.None, CountShardSubscribers, new("7.0.0", "O(N) for the SHARDNUMSUB subcommand, where N is the number of requested shard channels", "Counts the subscribers of sharded channels.", "[shardchannel [shardchannel ...]]")),
        ]),
    ]);

    // PUBLISH channel message
    private void Publish(ref CommandContext cmd)
    {
        cmd.EffectRequest(onlyReplicas: true);
        GlobBudget patterns = cmd.Environment.UnitWork.MessagePatterns;
        if (!cmd.Environment.IsInUnit) patterns.Begin();
        cmd.Reply.Integer(hub.Publish(cmd[1], cmd[2], patterns));
    }

    // SPUBLISH shardchannel message
    private void PublishToShard(ref CommandContext cmd)
    {
        cmd.EffectRequest(onlyReplicas: true);
        int receivers = hub.PublishToShard(cmd[1], cmd[2]);
        cmd.Reply.Integer(receivers);
        if (receivers > 0 && cmd.Settings is { ClusterEnabled: true } settings && (settings.SlotStatistics & SlotStatistics.Net) != 0) CountMessages(cmd, receivers);
    }

    // In the counts of the channel's slot, as what is sent for it.
    private static void CountMessages(scoped in CommandContext cmd, int receivers)
    {
        long bytes = "*3\r\n$8\r\nsmessage\r\n"u8.Length + BulkBytes(cmd[1].Length) + BulkBytes(cmd[2].Length);
        cmd.Environment.Metrics.CountedSlots.Add(SlotStatistics.Net, KeySlot.Of(cmd[1]), ns: 0, bytesIn: 0, bytes * receivers);

        static long BulkBytes(int length) => "$\r\n\r\n"u8.Length + RespNumber.TextLength(length) + length;
    }

    // Never executed: PUBSUB alone has too few arguments, and every other form names a subcommand.
    private static void WithoutSubcommand(ref CommandContext cmd) => cmd.ReplySyntaxError();

    // PUBSUB CHANNELS [pattern]
    private void Channels(ref CommandContext cmd) => ReplyNames(cmd, hub.Channels);

    // PUBSUB HELP
    private static void Help(ref CommandContext cmd) => HelpReply.Write(
        cmd,
        "CHANNELS [<pattern>]",
        "    Return the channels with subscribers, or those that match a pattern.",
        "NUMPAT",
        "    Return the number of patterns with subscribers.",
        "NUMSUB [<channel> ...]",
        "    Return the number of subscribers of each channel, without those of patterns.",
        "SHARDCHANNELS [<pattern>]",
        "    Return the sharded channels with subscribers, or those that match a pattern.",
        "SHARDNUMSUB [<shardchannel> ...]",
        "    Return the number of subscribers of each sharded channel.");

    // PUBSUB NUMPAT
    private void CountPatterns(ref CommandContext cmd) => cmd.Reply.Integer(hub.Patterns);

    // PUBSUB NUMSUB [channel [channel ...]]
    private void CountSubscribers(ref CommandContext cmd) => ReplyCounts(cmd, hub.Channels);

    // PUBSUB SHARDCHANNELS [pattern]
    private void ShardChannels(ref CommandContext cmd) => ReplyNames(cmd, hub.ShardChannels);

    // PUBSUB SHARDNUMSUB [shardchannel [shardchannel ...]]
    private void CountShardSubscribers(ref CommandContext cmd) => ReplyCounts(cmd, hub.ShardChannels);

    private static void ReplyNames(scoped in CommandContext cmd, ChannelTable channels)
    {
        if (cmd.Count > 3)
        {
            cmd.Reply.Error($"ERR unknown subcommand or wrong number of arguments for '{cmd.ShownText(1)}'. Try {cmd.ContainerText()} HELP.");
            return;
        }

        GlobBudget patterns = cmd.BeginPatterns();
        List<byte[]> names = channels.Matching(cmd.Count > 2 ? cmd[2] : "*"u8, patterns);
        if (!patterns.EndPatternsOrReply(cmd.Reply, cmd.Reply.Length)) return;
        cmd.Reply.Array(names.Count);
        foreach (byte[] name in names) cmd.Reply.Bulk(name);
    }

    private static void ReplyCounts(scoped in CommandContext cmd, ChannelTable channels)
    {
        cmd.Reply.Array((cmd.Count - 2) * 2);
        for (int i = 2; i < cmd.Count; i++)
        {
            cmd.Reply.Bulk(cmd[i]);
            cmd.Reply.Integer(channels.CountOf(cmd[i]));
        }
    }
}
