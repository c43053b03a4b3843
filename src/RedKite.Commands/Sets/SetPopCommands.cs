using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Values.Sets;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Sets;

/// <summary>
/// SPOP. Members are chosen and replied before any is removed, so that a reply that cannot be delivered leaves the set as it is.
/// </summary>
internal static class SetPopCommands
{
    // Redis moves what remains to a new set where it is at most this share of what is taken: OBJECT ENCODING shows it.
    private const int RemainingShare = 5;

    internal static readonly CommandFamily Family = new("set", "set",
    [
        new("SPOP", -2, Write | Fast, KeySpecs.One(1, ReadWrite | Access | Delete), SPop,
            new("1.0.0", "Without the count argument O(1), otherwise O(N) where N is the value of the passed count.",
                "Removes random members from a set and returns them. Deletes the key with the last member.", "key [count@3.2.0]") { History = [("3.2.0", "Accepts a count.")] }) { Tips = ["nondeterministic_output"] },
    ]);

    // SPOP key [count]
    private static void SPop(ref CommandContext cmd)
    {
        long count = 1;
        bool hasCount = cmd.Count > 2;
        if (cmd.Count > 3)
        {
            cmd.ReplySyntaxError();
            return;
        }

        if (hasCount && !cmd.TryCountOrReply(2, out count)) return;
        if (!cmd.OpenToWriteSetOrReply(1, out SetValue set)) return;
        set.RemoveExpired();
        if (!set.Exists || count == 0)
        {
            if (hasCount) cmd.Reply.Set(0);
            else cmd.Reply.Null();
        }
        else if (!hasCount)
        {
            PopOne(cmd, ref set);
        }
        else if (count >= set.Count)
        {
            PopAll(cmd, ref set);
        }
        else
        {
            PopSome(cmd, ref set, (int)count);
        }
    }

    private static void PopOne(scoped in CommandContext cmd, ref SetValue set)
    {
        ReadOnlySpan<byte> member = set.View.Pick(SamplingRandom.Current, stackalloc byte[SetEnumerator.NumberBytesMax], out _);
        cmd.Reply.Bulk(member);
        if (cmd.Reply.Overflowed) return;
        cmd.Effect("SREM"u8, 3).Argument(cmd[1]).Argument(member);
        set.Remove(member);
        cmd.Changed(1, KeyEvent.SPop);
    }

    private static void PopAll(scoped in CommandContext cmd, ref SetValue set)
    {
        long count = set.Count;
        cmd.Reply.Set((int)count);
        SetCommands.ReplyMembers(cmd.Reply, set.View);
        if (cmd.Reply.Overflowed) return;
        cmd.Effect("DEL"u8, 2).Argument(cmd[1]);
        set.RemoveAll();
        cmd.Metrics.CountHit(); // Redis lists all members as a read does
        cmd.Changed(1, KeyEvent.SPop, count);
    }

    private static void PopSome(scoped in CommandContext cmd, ref SetValue set, int count)
    {
        if (!SetSample.HasRoom(count))
        {
            cmd.Reply.Error("ERR Insufficient memory, failed allocating transient memory for SPOP"u8);
            return;
        }

        var sample = new SetSample(set.View, count);
        cmd.Reply.Set(count);
        sample.Reply(cmd.Reply);
        if (!cmd.Reply.Overflowed)
        {
            EffectArguments effect = cmd.Effect("SREM"u8, 2 + count, EffectTargets.All | EffectTargets.Always).Argument(cmd[1]); // as in Redis, redis.set_repl has no effect on it
            Span<byte> number = stackalloc byte[SetEnumerator.NumberBytesMax];
            for (int i = count - 1; i >= 0; i--)
            {
                ReadOnlySpan<byte> member = sample.Member(i, set.View, number);
                effect.Argument(member);
                set.Remove(member);
            }

            if (set.Count <= count / RemainingShare) set.EncodeAnew();
            cmd.Changed(1, KeyEvent.SPop, count);
        }

        sample.Release();
    }
}
