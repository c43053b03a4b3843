using RedKite.Bench;

namespace RedKite.Host.Transfer;

/// <summary>The arguments of a command that connects to servers: some without a name, options with a value, and switches.</summary>
internal sealed class TransferArguments
{
    private readonly List<string> _unnamed = [];
    private readonly Dictionary<string, string> _options = new(StringComparer.Ordinal);

    /// <param name="arguments">The program's arguments.</param>
    /// <param name="options">The options with a value.</param>
    /// <param name="switches">The options without one.</param>
    /// <exception cref="FormatException">They are not these.</exception>
    internal TransferArguments(string[] arguments, string[] options, string[] switches)
    {
        for (int i = 0; i < arguments.Length; i++)
        {
            string argument = arguments[i];
            if (!argument.StartsWith('-')) _unnamed.Add(argument);
            else if (switches.Contains(argument)) _options[argument] = "";
            else if (!options.Contains(argument)) throw new FormatException($"unknown option '{argument}'; see --help");
            else if (++i == arguments.Length) throw new FormatException($"{argument} needs a value");
            else _options[argument] = arguments[i];
        }
    }

    internal IReadOnlyList<string> Unnamed => _unnamed;

    internal bool Has(string option) => _options.ContainsKey(option);

    internal string? this[string option] => _options.GetValueOrDefault(option);

    /// <summary>A server's address with what the options and the environment say about it.</summary>
    /// <param name="text">The address.</param>
    /// <param name="prefix">What begins the names of its options: <c>--</c> or <c>--to-</c>.</param>
    /// <param name="variable">The environment's variable with the password, if the address has none.</param>
    internal ServerAddress Address(string text, string prefix, string variable)
    {
        ServerAddress address = ServerAddress.Parse(text);
        string? tls = this[prefix + "tls"] ?? address.Tls;
        string? certificate = this[prefix + "cert"];
        string? key = this[prefix + "key"];
        if (certificate is null != key is null) throw new FormatException($"{prefix}cert and {prefix}key belong together");
        string password = address.Password.Length > 0 ? address.Password : Environment.GetEnvironmentVariable(variable) ?? "";
        return address with { Tls = tls, Certificate = certificate, Key = key, Password = password };
    }
}
