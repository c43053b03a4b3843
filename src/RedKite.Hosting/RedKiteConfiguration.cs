using System.Globalization;
using Microsoft.Extensions.Configuration;

namespace RedKite.Hosting;

/// <summary>
/// Reads options from a section of the configuration. Each key is a member of <see cref="RedKiteOptions"/>, in any case; unknown keys and
/// values that do not fit are faults, which the server's start reports together with all others.
/// </summary>
/// <remarks>The framework's binder was rejected: it stops at the first bad value, ignores unknown keys, and knows no sizes such as "256mb".</remarks>
internal static class RedKiteConfiguration
{
    internal const string SectionName = "RedKite";

    private static readonly Dictionary<string, Func<RedKiteOptions, string, string?>> Members = new(StringComparer.OrdinalIgnoreCase)
    {
        [nameof(RedKiteOptions.Port)] = (options, text) => text.Equals("none", StringComparison.OrdinalIgnoreCase) ? Set(() => options.Port = null) : Number(text, value => options.Port = value, "a port, 0 for a free one, or none"),
        [nameof(RedKiteOptions.UnixSocketPath)] = (options, text) => Set(() => options.UnixSocketPath = text),
        [nameof(RedKiteOptions.Password)] = (options, text) => Set(() => options.Password = text),
        [nameof(RedKiteOptions.MaxMemory)] = (options, text) => options.TrySetMaxMemory(text) ? null : "a number of bytes, also with kb, mb or gb",
        [nameof(RedKiteOptions.Eviction)] = (options, text) => Word<RedKiteEviction>(text, value => options.Eviction = value),
        [nameof(RedKiteOptions.Loops)] = (options, text) => Number(text, value => options.Loops = value, "a number"),
        [nameof(RedKiteOptions.Databases)] = (options, text) => Number(text, value => options.Databases = value, "a number"),
        [nameof(RedKiteOptions.Persistence)] = (options, text) => Word<RedKitePersistence>(text, value => options.Persistence = value),
        [nameof(RedKiteOptions.ReplicaOf)] = (options, text) => Set(() => options.ReplicaOf = text),
        [nameof(RedKiteOptions.LogSync)] = (options, text) => Word<RedKiteLogSync>(text, value => options.LogSync = value),
        [nameof(RedKiteOptions.DataDirectory)] = (options, text) => Set(() => options.DataDirectory = text),
        [nameof(RedKiteOptions.LoadOnStart)] = (options, text) => Flag(text, value => options.LoadOnStart = value),
        [nameof(RedKiteOptions.AllowShutdown)] = (options, text) => Flag(text, value => options.AllowShutdown = value),
        [nameof(RedKiteOptions.ConfigFile)] = (options, text) => Set(() => options.ConfigFile = text),
    };

    internal static void Apply(IConfiguration section, RedKiteOptions options)
    {
        foreach (IConfigurationSection item in section.GetChildren())
        {
            if (item.Key.Equals(nameof(RedKiteOptions.Settings), StringComparison.OrdinalIgnoreCase)) ApplySettings(item, options);
            else if (!Members.TryGetValue(item.Key, out var apply)) options.Faults.Add($"configuration {item.Path}: unknown; the keys are {string.Join(", ", Members.Keys.Order(StringComparer.Ordinal))} and Settings");
            else if (item.Value is null) options.Faults.Add($"configuration {item.Path}: expected a value");
            else if (apply(options, item.Value) is { } expected) options.Faults.Add($"configuration {item.Path}: expected {expected}");
        }
    }

    // A directive has a value or an array of them.
    private static void ApplySettings(IConfigurationSection settings, RedKiteOptions options)
    {
        foreach (IConfigurationSection directive in settings.GetChildren())
        {
            try
            {
                if (directive.Value is { } single)
                {
                    options.Settings[directive.Key] = single;
                    continue;
                }

                options.Settings.Remove(directive.Key);
                foreach (IConfigurationSection item in directive.GetChildren())
                {
                    if (item.Value is { } value) options.Settings.Add(directive.Key, value);
                    else options.Faults.Add($"configuration {item.Path}: expected a value");
                }
            }
            catch (ArgumentException)
            {
                options.Faults.Add($"configuration {directive.Path}: '{directive.Key}' is no name of a directive");
            }
        }
    }

    private static string? Set(Action set)
    {
        set();
        return null;
    }

    private static string? Number(string text, Action<int> set, string expected)
    {
        if (!int.TryParse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out int value)) return expected;
        set(value);
        return null;
    }

    private static string? Flag(string text, Action<bool> set)
    {
        if (!bool.TryParse(text, out bool value)) return "true or false";
        set(value);
        return null;
    }

    private static string? Word<T>(string text, Action<T> set) where T : struct, Enum
    {
        // Numbers are no words.
        if (!text.All(char.IsAsciiLetter) || !Enum.TryParse(text, ignoreCase: true, out T value)) return $"one of {string.Join(", ", Enum.GetNames<T>())}";
        set(value);
        return null;
    }
}
