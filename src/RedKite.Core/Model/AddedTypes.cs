using RedKite.Persistence.Types;

namespace RedKite.Server.Model;

/// <summary>
/// Types of values that projects beside the server bring, each with its families of commands: <see cref="Add"/> is the one call that such a project makes. It
/// adds the type to the tables of the store (<see cref="Store.Values.StoredTypes"/>) and of files (<see cref="PersistedTypes"/>); a server has the commands of
/// all types that were added before it was made.
/// </summary>
internal static class AddedTypes
{
    private static readonly Lock Adding = new();
    private static volatile CommandFamily[] _families = [];

    /// <summary>The families of all added types.</summary>
    internal static CommandFamily[] Families => _families;

    /// <summary>Adds a type to the process, for good.</summary>
    /// <exception cref="InvalidOperationException">Its name or its module's id is taken, or there are too many types.</exception>
    internal static void Add(PersistedType type, params CommandFamily[] families)
    {
        lock (Adding)
        {
            PersistedTypes.Add(type);
            _families = [.. _families, .. families];
        }
    }
}
