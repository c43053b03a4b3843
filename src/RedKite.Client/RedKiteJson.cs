using System.Text.Json;
using System.Text.Json.Serialization.Metadata;

namespace RedKite;

/// <summary>JSON documents as objects of the caller's types, by System.Text.Json with metadata that a <see cref="System.Text.Json.Serialization.JsonSerializerContext"/> generates: nothing is found by reflection.</summary>
/// <remarks>Paths are those of RFC 9535 and begin with $ (docs/json.md).</remarks>
public readonly struct RedKiteJson : IEquatable<RedKiteJson>
{
    private readonly RedKiteCommands _commands;

    internal RedKiteJson(RedKiteCommands commands) => _commands = commands;

    /// <summary>Reads the first value that a path selects.</summary>
    /// <param name="key">The key.</param>
    /// <param name="path">The path: $ is the whole document.</param>
    /// <param name="type">The metadata of the type.</param>
    /// <returns>The value; the default if there is no key, or nothing at the path.</returns>
    /// <exception cref="RedKiteException">The key has no document, or the path is none.</exception>
    /// <exception cref="JsonException">The value is not one of the type.</exception>
    public T? Get<T>(string key, string path, JsonTypeInfo<T> type)
    {
        IReadOnlyList<T?> values = GetAll(key, path, type);
        return values.Count == 0 ? default : values[0];
    }

    /// <summary>Reads all values that a path selects, in its order.</summary>
    /// <param name="key">The key.</param>
    /// <param name="path">The path.</param>
    /// <param name="type">The metadata of the type.</param>
    /// <returns>The values; none if there is no key.</returns>
    /// <exception cref="RedKiteException">The key has no document, or the path is none.</exception>
    /// <exception cref="JsonException">A value is not one of the type.</exception>
    public IReadOnlyList<T?> GetAll<T>(string key, string path, JsonTypeInfo<T> type)
    {
        ArgumentNullException.ThrowIfNull(type);
        RedKiteReply reply = Execute("JSON.GET", key, Dollar(path));
        if (reply.IsNull) return [];
        using JsonDocument document = JsonDocument.Parse(reply.Bytes, new JsonDocumentOptions { MaxDepth = DepthMax });
        var values = new T?[document.RootElement.GetArrayLength()];
        int at = 0;
        foreach (JsonElement element in document.RootElement.EnumerateArray()) values[at++] = element.Deserialize(type);
        return values;
    }

    /// <summary>Sets the values that a path selects, or adds the member that it names; with the path $ the whole document.</summary>
    /// <param name="key">The key.</param>
    /// <param name="path">The path.</param>
    /// <param name="value">The value.</param>
    /// <param name="type">The metadata of the type.</param>
    /// <returns>Whether there was such a place.</returns>
    /// <exception cref="RedKiteException">The key has another type, or no document for a path other than $.</exception>
    public bool Set<T>(string key, string path, T value, JsonTypeInfo<T> type) => !Execute("JSON.SET", key, Dollar(path), JsonSerializer.Serialize(value, type)).IsNull;

    /// <summary>Removes the values that a path selects; with the path $ the key.</summary>
    /// <param name="key">The key.</param>
    /// <param name="path">The path.</param>
    /// <returns>How many there were.</returns>
    public long Remove(string key, string path = "$") => Execute("JSON.DEL", key, Dollar(path)).Integer;

    /// <inheritdoc/>
    public bool Equals(RedKiteJson other) => ReferenceEquals(_commands, other._commands);

    /// <inheritdoc/>
    public override bool Equals(object? obj) => obj is RedKiteJson other && Equals(other);

    /// <inheritdoc/>
    public override int GetHashCode() => _commands?.GetHashCode() ?? 0;

    /// <summary>Whether both are of the same client.</summary>
    public static bool operator ==(RedKiteJson left, RedKiteJson right) => left.Equals(right);

    /// <summary>Whether they are of different clients.</summary>
    public static bool operator !=(RedKiteJson left, RedKiteJson right) => !left.Equals(right);

    // That of a document, in a list.
    private const int DepthMax = 129;

    private static string Dollar(string path)
    {
        ArgumentNullException.ThrowIfNull(path);
        return path.StartsWith('$') ? path : throw new ArgumentException("A path begins with $.", nameof(path));
    }

    private RedKiteReply Execute(params ReadOnlySpan<string> arguments)
    {
        RedKiteReply reply = _commands.Execute(arguments);
        return reply.IsError ? throw RedKiteException.Of(reply.Bytes.Span) : reply;
    }
}
