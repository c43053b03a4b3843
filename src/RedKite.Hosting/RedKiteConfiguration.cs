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

    private static readonly Dictionary<string, Func<RedKiteClusterOptions, string, string?>> ClusterMembers = new(StringComparer.OrdinalIgnoreCase)
    {
        [nameof(RedKiteClusterOptions.Etcd)] = (cluster, text) => Set(() => cluster.Etcd = text),
        [nameof(RedKiteClusterOptions.EtcdPrefix)] = (cluster, text) => Set(() => cluster.EtcdPrefix = text),
        [nameof(RedKiteClusterOptions.EtcdUser)] = (cluster, text) => Set(() => cluster.EtcdUser = text),
        [nameof(RedKiteClusterOptions.EtcdPassword)] = (cluster, text) => Set(() => cluster.EtcdPassword = text),
        [nameof(RedKiteClusterOptions.Lease)] = (cluster, text) => TimeSpan.TryParse(text, CultureInfo.InvariantCulture, out TimeSpan lease) && text.Contains(':', StringComparison.Ordinal) ? Set(() => cluster.Lease = lease) : "a time such as 00:00:10",
        [nameof(RedKiteClusterOptions.ReplicaAcks)] = (cluster, text) => Number(text, value => cluster.ReplicaAcks = value, "a number"),
        [nameof(RedKiteClusterOptions.AnnounceIp)] = (cluster, text) => Set(() => cluster.AnnounceIp = text),
        [nameof(RedKiteClusterOptions.AnnouncePort)] = (cluster, text) => Number(text, value => cluster.AnnouncePort = value, "a port"),
        [nameof(RedKiteClusterOptions.Name)] = (cluster, text) => Set(() => cluster.Name = text),
        [nameof(RedKiteClusterOptions.Zone)] = (cluster, text) => Set(() => cluster.Zone = text),
    };

    internal static void Apply(IConfiguration section, RedKiteOptions options)
    {
        foreach (IConfigurationSection item in section.GetChildren())
        {
            if (item.Key.Equals(nameof(RedKiteOptions.Settings), StringComparison.OrdinalIgnoreCase)) ApplySettings(item, options);
            else if (item.Key.Equals(nameof(RedKiteOptions.Cluster), StringComparison.OrdinalIgnoreCase)) ApplyCluster(item, options);
            else Apply(item, Members, options, options, ", Cluster and Settings");
        }
    }

    // An empty section, too, makes the server a node.
    private static void ApplyCluster(IConfigurationSection section, RedKiteOptions options)
    {
        if (section.Value is { Length: > 0 }) options.Faults.Add($"configuration {section.Path}: expected a section with {string.Join(", ", ClusterMembers.Keys.Order(StringComparer.Ordinal))}");
        RedKiteClusterOptions cluster = options.Cluster ??= new RedKiteClusterOptions();
        foreach (IConfigurationSection item in section.GetChildren()) Apply(item, ClusterMembers, cluster, options, "");
    }

    private static void Apply<T>(IConfigurationSection item, Dictionary<string, Func<T, string, string?>> members, T target, RedKiteOptions options, string others)
    {
        if (!members.TryGetValue(item.Key, out Func<T, string, string?>? apply)) options.Faults.Add($"configuration {item.Path}: unknown; the keys are {string.Join(", ", members.Keys.Order(StringComparer.Ordinal))}{others}");
        else if (item.Value is null) options.Faults.Add($"configuration {item.Path}: expected a value");
        else if (apply(target, item.Value) is { } expected) options.Faults.Add($"configuration {item.Path}: expected {expected}");
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
