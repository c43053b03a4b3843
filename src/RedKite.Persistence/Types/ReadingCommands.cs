namespace RedKite.Persistence.Types;

/// <summary>The commands by which values of a type are looked at from outside, each of bounded work.</summary>
/// <param name="Count">The command that counts the elements of a key's value.</param>
/// <param name="Beginning">The request for the first elements of a key's value, or its first bytes: at most so many of either.</param>
/// <param name="IsPage">Whether the reply has a cursor before the elements.</param>
/// <param name="CountAt">The element of that command's reply that is the number; negative: the reply is.</param>
internal sealed record ReadingCommands(string Count, Func<string, int, int, string[]> Beginning, bool IsPage = false, int CountAt = -1)
{
    /// <summary>A number in a request.</summary>
    internal static string Text(long number) => number.ToString(System.Globalization.CultureInfo.InvariantCulture);
}
