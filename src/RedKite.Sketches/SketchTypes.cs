using RedKite.Server.Model;

namespace RedKite.Sketches;

/// <summary>Probabilistic types: the types of values and the commands that this project adds to a server.</summary>
internal static class SketchTypes
{
    /// <summary>The families of commands.</summary>
    internal static CommandFamily[] Families => [];

    /// <summary>Adds the types to the process: see <see cref="AddedTypes"/>.</summary>
    internal static void Add()
    {
    }
}
