using System.Text;

namespace RedKite.Json.Store;

/// <summary>What is wrong with a text that is no JSON, and where, as clients know it from Redis.</summary>
internal readonly record struct JsonSyntax(string Problem, int Line, int Column)
{
    internal bool IsError => Problem is not null;

    internal byte[] Message => Encoding.UTF8.GetBytes($"{Problem} at line {Line} column {Column}");
}
