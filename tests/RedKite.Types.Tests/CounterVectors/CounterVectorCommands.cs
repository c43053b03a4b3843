using System.Runtime.CompilerServices;
using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Types.Tests.CounterVectors;

/// <summary>The commands of vectors of counters, and the call that adds the type.</summary>
internal static class CounterVectorCommands
{
    private static readonly KeyEvent Added = KeyEvents.Add("cvadd");

    internal static readonly CommandFamily Family = new("module", "",
    [
        new("CVADD", 4, Write | DenyOom, KeySpecs.One(1, KeyFlags.ReadWrite | KeyFlags.Update), CvAdd, new("8.0.0", "O(1)", "Adds to a counter of a vector.", "key index:integer increment:integer")),
        new("CVGET", 3, CommandFlags.ReadOnly, KeySpecs.One(1, KeyFlags.ReadOnly | KeyFlags.Access), CvGet, new("8.0.0", "O(1)", "Returns a counter of a vector.", "key index:integer")),
        new("CVLEN", 2, CommandFlags.ReadOnly, KeySpecs.One(1, KeyFlags.ReadOnly), CvLen, new("8.0.0", "O(1)", "Returns the number of counters of a vector.", "key")),
    ]);

    // CA2255: as a type's project would, the test project adds its type before anything else.
#pragma warning disable CA2255
    [ModuleInitializer]
    internal static void Add() => AddedTypes.Add(new PersistedCounterVector(), Family);
#pragma warning restore CA2255

    // CVADD key index increment
    private static void CvAdd(ref CommandContext cmd)
    {
        if (!TryIndexOrReply(cmd, out int index) || !cmd.TryIntegerOrReply(3, out long increment)) return;
        Entry entry = cmd.FindToWrite(1);
        if (!cmd.IsTypeOrReply(entry, CounterVectorType.Instance.Number)) return;
        long sum = CounterVector.Add(cmd.Database, cmd[1], cmd.HashOf(1), entry, cmd.Accesses.NewClock, index, increment);
        cmd.Changed(1, Added);
        cmd.Reply.Integer(sum);
    }

    // CVGET key index
    private static void CvGet(ref CommandContext cmd)
    {
        if (!TryIndexOrReply(cmd, out int index)) return;
        Entry entry = cmd.Find(1);
        if (!cmd.IsTypeOrReply(entry, CounterVectorType.Instance.Number)) return;
        CounterVector vector = CounterVector.Of(entry);
        if (index < vector.Count) cmd.Reply.Integer(vector[index]);
        else cmd.Reply.Null();
    }

    // CVLEN key
    private static void CvLen(ref CommandContext cmd)
    {
        Entry entry = cmd.Find(1);
        if (cmd.IsTypeOrReply(entry, CounterVectorType.Instance.Number)) cmd.Reply.Integer(CounterVector.Of(entry).Count);
    }

    private static bool TryIndexOrReply(scoped in CommandContext cmd, out int index)
    {
        index = 0;
        if (!cmd.TryIntegerOrReply(2, out long number)) return false;
        if (number is < 0 or >= CounterVector.CountMax)
        {
            cmd.Reply.Error("ERR index is out of range"u8);
            return false;
        }

        index = (int)number;
        return true;
    }
}
