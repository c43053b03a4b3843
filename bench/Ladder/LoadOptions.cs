using System.Globalization;

namespace RedKite.Ladder;

/// <summary>One load run, as passed to its process.</summary>
/// <param name="Ratio">SET:GET, as in <c>redkite bench</c>.</param>
/// <param name="Seconds">The duration; 0: set every key once.</param>
/// <param name="SecondsMax">After this time the server counts as hung.</param>
internal sealed record LoadOptions(
    int Port, int Threads, int Clients, int Pipeline, int Keys, int ValueBytes, string Ratio, int Seconds, int SecondsMax)
{
    internal string[] ToArguments() =>
    [
        Text(Port), Text(Threads), Text(Clients), Text(Pipeline), Text(Keys), Text(ValueBytes), Ratio, Text(Seconds), Text(SecondsMax),
    ];

    /// <exception cref="FormatException">The arguments are not those of <see cref="ToArguments"/>.</exception>
    internal static LoadOptions FromArguments(string[] arguments)
    {
        if (arguments.Length != 9) throw new FormatException("load: for internal use; try redkite bench");
        return new LoadOptions(Number(0), Number(1), Number(2), Number(3), Number(4), Number(5), arguments[6], Number(7), Number(8));

        int Number(int index) => int.Parse(arguments[index], NumberStyles.None, CultureInfo.InvariantCulture);
    }

    /// <summary>The equivalent arguments of <c>redkite bench</c>.</summary>
    internal string[] ToBenchArguments()
    {
        string[] common =
        [
            "-s", "127.0.0.1", "-p", Text(Port), "-t", Text(Threads), "-c", Text(Clients), "--pipeline", Text(Pipeline),
            "--key-maximum", Text(Keys - 1), "-d", Text(ValueBytes), "--distinct-client-seed",
        ];
        return Seconds > 0
            ? [.. common, "--ratio", Ratio, "--test-time", Text(Seconds)]
            : [.. common, "--ratio", "1:0", "-n", "allkeys", "--key-pattern", "P:P"];
    }

    private static string Text(int number) => number.ToString(CultureInfo.InvariantCulture);
}
