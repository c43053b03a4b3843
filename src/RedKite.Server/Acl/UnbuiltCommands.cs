using RedKite.Server.Model;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Acl;

/// <summary>
/// The commands of Redis, up to 8.12, that RedKite has no row for. Users' rules know them, so that rules and files that were written for Redis load.
/// A command that gets a row is removed here.
/// </summary>
internal static class UnbuiltCommands
{
    /// <summary>Rows of these commands, for rules only. Their indexes follow those of the built ones.</summary>
    /// <param name="first">The first index.</param>
    internal static IReadOnlyList<Command> Create(int first)
    {
        CommandFamily[] families =
        [
            new("generic", "keyspace",
            [
                Row("MIGRATE", -6, Write, [new(3, 3, 1, ReadWrite | Access | KeyFlags.Delete), new(1, -1, 1, ReadWrite | Access | KeyFlags.Delete | Incomplete) { Keyword = "KEYS", StartFrom = -2 }], AclCategory.Dangerous),
            ]),
        ];
        Command[] rows = [.. families.SelectMany(family => family.Commands)];
        for (int i = 0; i < rows.Length; i++) rows[i].Index = first + i;
        return rows;
    }

    private static Command Row(string name, int arity, CommandFlags flags, KeySpec[]? keys = null, AclCategory categories = AclCategory.None) =>
        new(name, arity, flags, keys ?? KeySpecs.None, (ref _) => { }, new("", "", "")) { Categories = categories };
}
