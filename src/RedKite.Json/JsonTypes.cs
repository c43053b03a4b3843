using RedKite.Server.Model;

namespace RedKite.Json;

/// <summary>JSON documents: the type of value and the commands that this project adds to a server.</summary>
internal static class JsonTypes
{
    /// <summary>The families of commands.</summary>
    internal static CommandFamily[] Families => [];

    /// <summary>Adds the types to the process: see <see cref="AddedTypes"/>.</summary>
    internal static void Add()
    {
    }
}
