using System.Buffers;
using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Sets;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Sets;

/// <summary>Members drawn at random, each with the same chance: SPOP takes them out, SRANDMEMBER does not.</summary>
internal static class SetRandomCommands
{
    // Of a table, so few of its members are drawn one by one; of more, it is passed through once.
    private const long DrawnShare = 4;

    // So few draws are compared with each other directly.
    private const int DrawsComparedMax = 256;

    internal static readonly CommandFamily Family = new("set", "set",
    [
        new("SPOP", -2, Write | Fast, KeySpecs.One(1, ReadWrite | Access | Delete), SPop,
            new("1.0.0", "Without the count argument O(1), otherwise O(N) where N is the value of the passed count.", "Draws members from a set and removes them.", "key [count@3.2.0]")) { Tips = ["nondeterministic_output"] },
        new("SRANDMEMBER", -2, CommandFlags.ReadOnly, KeySpecs.One(1, KeyFlags.ReadOnly | Access), SRandMember,
            new("1.0.0", "Without the count argument O(1), otherwise O(N) where N is the absolute value of the passed count.", "Draws members from a set.", "key [count@2.6.0]")) { Tips = ["nondeterministic_output"] },
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
        Entry entry = cmd.FindToWrite(1);
        if (!cmd.IsTypeOrReply(entry, DataType.Set)) return;
        if (!entry.Exists || count == 0)
        {
            if (hasCount) cmd.Reply.Set(0);
            else cmd.Reply.Null();
            return;
        }

        SetView members = SetAccess.View(cmd, entry);
        long popped = Math.Min(count, members.Count);
        if (hasCount) cmd.Reply.Set((int)popped);
        if (popped == members.Count)
        {
            SetCommands.ReplyMembers(cmd.Reply, members);
            cmd.Database.Remove(entry);
        }
        else
        {
            Pop(cmd, SetAccess.Open(cmd, entry), popped);
        }

        cmd.Changed(popped);
    }

    private static void Pop(scoped in CommandContext cmd, SetValue set, long count)
    {
        Span<byte> number = stackalloc byte[SetEnumerator.NumberBytesMax];
        for (long i = 0; i < count; i++)
        {
            ReadOnlySpan<byte> member = set.View.Draw(Random.Shared, number, out _);
            cmd.Reply.Bulk(member);
            set.Remove(member);
        }
    }

    // SRANDMEMBER key [count]
    private static void SRandMember(ref CommandContext cmd)
    {
        if (cmd.Count > 3)
        {
            cmd.ReplySyntaxError();
            return;
        }

        long count = 0;
        bool hasCount = cmd.Count == 3;
        if (hasCount && !cmd.TrySignedOrReply(2, out count)) return;
        if (!SetAccess.TryReadOrReply(cmd, 1, out SetView set)) return;
        if (!hasCount)
        {
            if (set.Count == 0) cmd.Reply.Null();
            else cmd.Reply.Bulk(set.Draw(Random.Shared, stackalloc byte[SetEnumerator.NumberBytesMax], out _));
        }
        else if (set.Count == 0 || count == 0)
        {
            cmd.Reply.Array(0);
        }
        else if (count < 0)
        {
            DrawRepeatedly(cmd.Reply, set, -count);
        }
        else
        {
            DrawDifferent(cmd.Reply, set, Math.Min(count, set.Count));
        }
    }

    // A reply that outgrows what one may be ends the draws.
    private static void DrawRepeatedly(ReplyWriter reply, SetView set, long count)
    {
        if (!reply.FitsOrOverflows(count)) return;
        Span<byte> number = stackalloc byte[SetEnumerator.NumberBytesMax];
        reply.Array((int)count);
        for (long i = 0; i < count && !reply.Overflowed; i++) reply.Bulk(set.Draw(Random.Shared, number, out _));
    }

    private static void DrawDifferent(ReplyWriter reply, SetView set, long count)
    {
        reply.Array((int)count);
        if (count == set.Count) SetCommands.ReplyMembers(reply, set);
        else if (!set.IsTable || count > set.Count / DrawnShare) Sample(reply, set, count);
        else DrawUnseen(reply, set, (int)count);
    }

    // Each member in turn is taken with the chance that makes the number right in the end.
    private static void Sample(ReplyWriter reply, SetView set, long count)
    {
        long left = set.Count;
        SetEnumerator members = set.Enumerate(stackalloc byte[SetEnumerator.NumberBytesMax]);
        for (; count > 0 && members.MoveNext(); left--)
        {
#pragma warning disable CA5394 // Not a secret: a sample.
            if (Random.Shared.NextInt64(left) >= count) continue;
#pragma warning restore CA5394
            reply.Bulk(members.Current);
            count--;
        }
    }

    // Draws until enough different members were seen: each new one with a chance of three quarters at least.
    private static void DrawUnseen(ReplyWriter reply, SetView set, int count)
    {
        nint[] seen = ArrayPool<nint>.Shared.Rent(count <= DrawsComparedMax ? count : (int)System.Numerics.BitOperations.RoundUpToPowerOf2((uint)count * 2));
        Span<nint> places = seen;
        int drawn = 0;
        if (count > DrawsComparedMax)
        {
            places = places[..(1 << System.Numerics.BitOperations.Log2((uint)places.Length))];
            places.Clear();
        }

        while (drawn < count)
        {
            ReadOnlySpan<byte> member = set.Draw(Random.Shared, default, out nint place);
            if (count <= DrawsComparedMax)
            {
                if (places[..drawn].Contains(place)) continue;
                places[drawn] = place;
            }
            else if (!TryNote(places, place))
            {
                continue;
            }

            drawn++;
            reply.Bulk(member);
        }

        ArrayPool<nint>.Shared.Return(seen);
    }

    // A table of places with room for twice as many; false if it has this one.
    private static bool TryNote(Span<nint> table, nint place)
    {
        int mask = table.Length - 1;
        int at = (int)((ulong)place * 0x9E3779B97F4A7C15 >> 33) & mask;
        for (; table[at] != 0; at = (at + 1) & mask)
        {
            if (table[at] == place) return false;
        }

        table[at] = place;
        return true;
    }
}
