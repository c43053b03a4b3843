using RedKite.Json.Commands;
using RedKite.Server.Model;

namespace RedKite.Json;

/// <summary>JSON documents: the type of value and the commands that this project adds to a server.</summary>
internal static class JsonTypes
{
    /// <summary>The families of commands.</summary>
    internal static CommandFamily[] Families { get; } =
        [JsonGetCommands.Family, JsonReadCommands.Family, JsonSetCommands.Family, JsonRemoveCommands.Family, JsonNumberCommands.Family, JsonArrayCommands.Family];

    /// <summary>Adds the types to the process: see <see cref="AddedTypes"/>.</summary>
    internal static void Add() => AddedTypes.Add(new PersistedJson());
}
