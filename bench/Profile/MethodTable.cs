using System.Text;
using RedKite.Figures;

namespace RedKite.Profile;

/// <summary><see cref="HotMethods"/> as text: the hottest methods by exclusive samples, then by inclusive ones.</summary>
internal static class MethodTable
{
    private const int RowsMax = 40;

    internal static string Write(string title, HotMethods hot)
    {
        var text = new StringBuilder();
        text.Append(ToTable($"{title}: by their own samples (exclusive)", hot, hot.Methods.Where(m => m.Exclusive > 0)).ToText());
        text.AppendLine();
        text.Append(ToTable($"{title}: with what they call (inclusive)", hot, hot.Methods.OrderByDescending(m => m.Inclusive)).ToText());
        return text.ToString();
    }

    private static Table ToTable(string title, HotMethods hot, IEnumerable<HotMethod> methods)
    {
        var table = new Table(
            title, new Column("exclusive %", "F2"), new Column("samples"), new Column("inclusive %", "F2"), new Column("samples"), new Column("method"));
        foreach (HotMethod method in methods.Take(RowsMax))
        {
            table.Add(Percent(method.Exclusive), method.Exclusive, Percent(method.Inclusive), method.Inclusive, method.Name);
        }

        return table;

        double Percent(long samples) => hot.Samples == 0 ? 0 : 100.0 * samples / hot.Samples;
    }
}
