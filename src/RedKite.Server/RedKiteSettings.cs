using System.Collections;

namespace RedKite;

/// <summary>
/// Directives of redis.conf by name, in any case: <c>settings["maxclients"] = "100"</c>. A directive that redis.conf may have several
/// lines of has several values: <c>settings.Add("user", "alice on >secret ~* +@all")</c>. The order is kept. Not thread-safe.
/// </summary>
/// <remarks>
/// A setting's value is taken as it is: a password needs no quotes. The value of a directive that is no setting (<c>user</c>,
/// <c>rename-command</c>, <c>include</c>) is its words as in redis.conf, with quotes where a word has spaces or is empty.
/// </remarks>
public sealed class RedKiteSettings : IEnumerable<KeyValuePair<string, string>>
{
    private readonly List<KeyValuePair<string, string>> _lines = [];

    /// <summary>Gets the last value of a directive, or gives it one value instead of all it has.</summary>
    /// <param name="name">The directive's name.</param>
    /// <exception cref="KeyNotFoundException">It has no value.</exception>
    /// <exception cref="ArgumentException">The name is empty or has spaces.</exception>
    public string this[string name]
    {
        get
        {
            int index = _lines.FindLastIndex(line => Is(line, name));
            return index < 0 ? throw new KeyNotFoundException($"The directive '{name}' has no value here.") : _lines[index].Value;
        }

        set
        {
            ArgumentNullException.ThrowIfNull(value);
            int index = _lines.FindIndex(line => Is(line, name));
            Remove(name);
            _lines.Insert(index < 0 ? _lines.Count : index, new(Checked(name), value));
        }
    }

    /// <summary>How many values there are.</summary>
    public int Count => _lines.Count;

    /// <summary>Adds a value to those that a directive has.</summary>
    /// <param name="name">The directive's name.</param>
    /// <param name="value">What follows it.</param>
    /// <exception cref="ArgumentException">The name is empty or has spaces.</exception>
    public void Add(string name, string value)
    {
        ArgumentNullException.ThrowIfNull(value);
        _lines.Add(new(Checked(name), value));
    }

    /// <summary>Whether a directive has a value.</summary>
    public bool ContainsKey(string name) => _lines.Exists(line => Is(line, name));

    /// <summary>Removes all values of a directive.</summary>
    /// <returns>Whether it had any.</returns>
    public bool Remove(string name) => _lines.RemoveAll(line => Is(line, name)) > 0;

    /// <summary>The names and values in order, a name once for each of its values.</summary>
    public IEnumerator<KeyValuePair<string, string>> GetEnumerator() => _lines.GetEnumerator();

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    private static bool Is(KeyValuePair<string, string> line, string name) => line.Key.Equals(name, StringComparison.OrdinalIgnoreCase);

    private static string Checked(string name)
    {
        ArgumentException.ThrowIfNullOrEmpty(name);
        return name.Any(character => char.IsWhiteSpace(character) || character is '"' or '\'' or '#') ? throw new ArgumentException($"'{name}' is no name of a directive.", nameof(name)) : name;
    }
}
