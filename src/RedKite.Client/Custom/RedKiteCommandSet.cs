using System.Collections;
using System.Diagnostics.CodeAnalysis;
using System.Reflection;

namespace RedKite;

/// <summary>
/// A server's commands of its host's own, which are written in C#. Each is called like any other command, by any client; it runs with its keys locked, so no other
/// command sees what it has done in part.
/// </summary>
/// <example>
/// <code>
/// options.Commands.Add("LEADERBOARD.TOP", static (RedKiteCommandKeys keys, [RedKiteKey] string board, int count) =>
///     keys.SortedSetRangeByRank(board, 0, count - 1, fromHighest: true));
/// </code>
/// </example>
public sealed class RedKiteCommandSet : IReadOnlyCollection<string>
{
    private readonly List<Entry> _entries = [];

    internal RedKiteCommandSet()
    {
    }

    /// <inheritdoc/>
    public int Count => _entries.Count;

    internal IReadOnlyList<Entry> Entries => _entries;

    /// <summary>
    /// Adds a command. Its arguments are the method's parameters, in their order: <see cref="RedKiteKeyAttribute"/> marks those that are keys. A parameter of the type
    /// <see cref="RedKiteCommandKeys"/> is no argument but gives access to the keys.
    /// </summary>
    /// <param name="name">The command's name, in any case; a dot after the product's name keeps it apart from Redis's.</param>
    /// <param name="method">
    /// The method, called by many threads at the same time. Parameters are string, byte[], ReadOnlyMemory of byte, int, long, double or bool; the last ones may have
    /// default values, and the very last may be an array of strings for any number of arguments. It returns nothing (OK), a string, bytes, an integer, a double, a bool,
    /// <see cref="RedKiteItems"/>, <see cref="RedKitePairs"/>, a sequence of strings, or null.
    /// </param>
    /// <param name="options">What else is known of it; null: it may write.</param>
    /// <exception cref="ArgumentException">The name is empty or has blanks, or a parameter has another type.</exception>
    public void Add(string name, Delegate method, RedKiteCommandOptions? options = null)
    {
        ArgumentException.ThrowIfNullOrWhiteSpace(name);
        ArgumentNullException.ThrowIfNull(method);
        _entries.Add(new Entry(name, method.Method, method.Target, options ?? new RedKiteCommandOptions()));
    }

    /// <summary>Adds every public static method of a class that has a <see cref="RedKiteCommandAttribute"/>; see <see cref="Add(string, Delegate, RedKiteCommandOptions?)"/>.</summary>
    /// <exception cref="ArgumentException">None has, or a parameter has an unsuitable type.</exception>
    public void Add([DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicMethods)] Type commands)
    {
        ArgumentNullException.ThrowIfNull(commands);
        int before = _entries.Count;
        foreach (MethodInfo method in commands.GetMethods(BindingFlags.Public | BindingFlags.Static))
        {
            if (method.GetCustomAttribute<RedKiteCommandAttribute>() is not { } attribute) continue;
            _entries.Add(new Entry(attribute.Name, method, null, new RedKiteCommandOptions { IsReadOnly = attribute.IsReadOnly, Summary = attribute.Summary, Category = attribute.Category }));
        }

        if (_entries.Count == before) throw new ArgumentException($"{commands.Name} has no public static method with a [RedKiteCommand].", nameof(commands));
    }

    /// <summary>The names.</summary>
    public IEnumerator<string> GetEnumerator() => _entries.Select(static entry => entry.Name).GetEnumerator();

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    internal sealed record Entry(string Name, MethodInfo Method, object? Target, RedKiteCommandOptions Options);
}

/// <summary>What is known of a custom command beside its method.</summary>
public sealed class RedKiteCommandOptions
{
    /// <summary>Whether it changes nothing: a call of a command that writes is refused then, and access rules count it as a reading command.</summary>
    public bool IsReadOnly { get; set; }

    /// <summary>What it does, in a sentence, for COMMAND DOCS.</summary>
    public string Summary { get; set; } = "";

    /// <summary>A further access category without its at-sign, such as "sortedset"; empty: only those that follow from the rest.</summary>
    public string Category { get; set; } = "";
}

/// <summary>Marks a static method as a custom command; see <see cref="RedKiteCommandSet.Add(Type)"/>.</summary>
/// <param name="name">The command's name.</param>
[AttributeUsage(AttributeTargets.Method)]
public sealed class RedKiteCommandAttribute(string name) : Attribute
{
    /// <summary>The command's name.</summary>
    public string Name { get; } = name;

    /// <inheritdoc cref="RedKiteCommandOptions.IsReadOnly"/>
    public bool IsReadOnly { get; set; }

    /// <inheritdoc cref="RedKiteCommandOptions.Summary"/>
    public string Summary { get; set; } = "";

    /// <inheritdoc cref="RedKiteCommandOptions.Category"/>
    public string Category { get; set; } = "";
}

/// <summary>Marks a parameter of a custom command as a key, or an array of strings at its end as keys: they are locked while it runs, and no others can be used.</summary>
[AttributeUsage(AttributeTargets.Parameter)]
public sealed class RedKiteKeyAttribute : Attribute;
